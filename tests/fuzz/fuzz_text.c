/* Any bytes as a text model: what is accepted prints to a text that reads back to the same
 * print. */
#include "core/model/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tn__model *read_text(const char *text, uint64_t size) {
    struct tn__load_options options = {
        .max_tensor_bytes = 16 << 20, .max_total_bytes = 64 << 20, .max_nodes = 100000};
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    tn_status status = tn__text_read_model(text, size, &options, &model, &diag);
    if (status != TN_OK && (diag.code != status || !diag.message[0])) abort();
    return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tn__model *model = read_text((const char *)data, size);
    if (!model) return 0;
    struct tn_text first = {0}, second = {0};
    tn__text_print_model(model, UINT64_MAX, &first);
    tn__model_destroy(model);
    model = read_text(first.data, first.size);
    if (!model) abort();
    tn__text_print_model(model, UINT64_MAX, &second);
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
        abort();
    tn__text_free(&first);
    tn__text_free(&second);
    tn__model_destroy(model);
    return 0;
}
