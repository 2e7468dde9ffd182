/* Kernel objects: what create makes once and compute reads. Every one begins with
 * struct tn_kernel_head (or a struct that begins with it); what hangs on it is freed by the
 * plugin's own destroy, which ends in tn_kernel_destroy. */
#ifndef TENON_HELPER_KERNEL_H
#define TENON_HELPER_KERNEL_H

#include "tenon/helper/diag.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

#include <string.h>

struct tn_kernel_head {
    const struct tn_host *host;
};

/* A zeroed kernel object of `size` bytes. */
static inline tn_status tn_kernel_create(
    const struct tn_kernel_ctx *ctx, size_t size, void **out) {
    struct tn_kernel_head *head =
        (struct tn_kernel_head *)ctx->host->alloc(ctx->host->self, size, 0, "kernel");
    if (!head)
        return tn_fail(
            ctx->diag, TN_OUT_OF_MEMORY, "no memory for a kernel of %zu bytes", size);
    memset(head, 0, size);
    head->host = ctx->host;
    *out = head;
    return TN_OK;
}

static inline void tn_kernel_destroy(void *kernel) {
    struct tn_kernel_head *head = (struct tn_kernel_head *)kernel;
    if (head) head->host->free(head->host->self, head);
}

/* The end of a create: passes the status on, and frees the object when it is a failure. */
static inline tn_status tn_kernel_ready(tn_status status, void **out) {
    if (status != TN_OK) {
        tn_kernel_destroy(*out);
        *out = NULL;
    }
    return status;
}

#endif
