/* A small correct plugin whose every part can be made wrong by a definition on the
 * compiler's command line (tests/fakes/meson.build lists the faults): domain "fake" with
 * the operators Double and Broken, their kernels, and the provider "fake". */
#include "tenon/helper/claim.h"
#include "tenon/helper/diag.h"
#include "tenon/op.h"
#include "tenon/plugin.h"
#include "tenon/provider.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#ifndef FAKE_ENTRY
#define FAKE_ENTRY TN_PLUGIN_ENTRY
#endif
#ifndef NOTE_MAJOR
#define NOTE_MAJOR TN_ABI_MAJOR
#endif
#ifndef NOTE_MINOR
#define NOTE_MINOR TN_ABI_MINOR
#endif
#ifndef NOTE_HOST_MIN
#define NOTE_HOST_MIN TN_ABI_MINOR
#endif
#ifndef NOTE_SANITIZER
#define NOTE_SANITIZER TN_SANITIZER_CURRENT
#endif
#ifndef NOTE_ID
#define NOTE_ID FAKE_ID
#endif
#ifndef DESC_ID
#define DESC_ID FAKE_ID
#endif
#ifndef DESC_SIZE
#define DESC_SIZE TN_PLUGIN_SIZE
#endif
#ifndef DESC_FLAGS
#define DESC_FLAGS 0
#endif
#ifndef DESC_MINOR
#define DESC_MINOR TN_ABI_MINOR
#endif
#ifndef DESC_HOST_MIN
#define DESC_HOST_MIN TN_ABI_MINOR
#endif
#ifndef DESC_SANITIZER
#define DESC_SANITIZER TN_SANITIZER_CURRENT
#endif
#ifndef DESC_OPS
#define DESC_OPS get_ops
#endif
#ifndef DESC_VERSION
#define DESC_VERSION "1.2.3"
#endif
#ifndef INIT_STATUS
#define INIT_STATUS TN_OK
#endif
#ifndef QUERY_STATUS
#define QUERY_STATUS TN_OK
#endif
#ifndef TABLE_STATUS
#define TABLE_STATUS TN_OK
#endif
#ifndef OP_SIZE
#define OP_SIZE TN_OP_DEF_SIZE
#endif
#ifndef OP_FLAGS
#define OP_FLAGS 0
#endif
#ifndef OP_RESERVED
#define OP_RESERVED 0
#endif
#ifndef OP_VERSIONS
#define OP_VERSIONS {1, 0, NULL}, {2, 0, NULL}
#endif
#ifndef OP_VAR_OF_INPUT
#define OP_VAR_OF_INPUT "T"
#endif
#ifndef OP_NAME
#define OP_NAME "Double"
#endif
#ifndef OPS
#define OPS &double_row.def, &broken_def
#endif
#ifndef KERNEL_SIZE
#define KERNEL_SIZE TN_KERNEL_DEF_SIZE
#endif
#ifndef KERNEL_VAR
#define KERNEL_VAR "T"
#endif
#ifndef KERNEL_COMPUTE
#define KERNEL_COMPUTE compute
#endif
#ifndef KERNELS
#define KERNELS &double_kernel_row.def
#endif
#ifndef PROVIDERS
#define PROVIDERS &provider
#endif
/* clang-format on */

/* Bytes that lie behind a table when it claims to be longer than its header says. */
#define GARBAGE 0xdeadbeefdeadbeefu

#ifdef RUN_BEFORE_MAIN
/* code that must not run when the note already says that the plugin does not fit */
__attribute__((constructor)) static void run_at_load(void) {
    setenv("TENON_TEST_FAKE_RAN", "1", 1);
}
#endif

/* ---- operators ---- */

static const struct tn_op_version versions[] = {OP_VERSIONS};
static const struct tn_type_var vars[] = {{"T", TN_BIT(FLOAT) | TN_BIT(INT32), 0, 0, 0}};
static const struct tn_formal inputs[] = {{"X", OP_VAR_OF_INPUT, 0, 0, 0}};
static const struct tn_formal outputs[] = {{"Y", "T", 0, 0, 0}};

static const struct {
    struct tn_op_def def;
    uint64_t garbage[8];
} double_row = {{.struct_size = OP_SIZE,
                    .flags = OP_FLAGS,
                    .domain = "fake",
                    .op_type = OP_NAME,
                    .versions = versions,
                    .inputs = inputs,
                    .outputs = outputs,
                    .type_vars = vars,
                    .n_versions = sizeof versions / sizeof versions[0],
                    .n_inputs = 1,
                    .n_outputs = 1,
                    .n_type_vars = 1,
                    .reserved = OP_RESERVED},
    {GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE}};

/* The same operator with another schema. */
static const struct tn_op_def other_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "fake",
    .op_type = "Double",
    .versions = versions,
    .inputs = inputs,
    .type_vars = vars,
    .n_versions = sizeof versions / sizeof versions[0],
    .n_inputs = 1,
    .n_type_vars = 1};

static const struct tn_op_version first[] = {{1, 0, NULL}};
static const struct tn_op_def broken_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "fake",
    .op_type = "Broken",
    .versions = first,
    .n_versions = 1};

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    const float *x = args->inputs[0].as.tensor->data;
    float *y = args->outputs[0].as.tensor->data;
    for (uint64_t i = 0; i < args->outputs[0].as.tensor->size / sizeof *y; i++)
        y[i] = 2 * x[i];
    return TN_OK;
}

static const struct tn_type_constraint constraints[] = {{KERNEL_VAR, TN_BIT(FLOAT)}};
static const struct {
    struct tn_kernel_def def;
    uint64_t garbage[8];
} double_kernel_row = {{.struct_size = KERNEL_SIZE,
                           .provider = "fake",
                           .domain = "fake",
                           .op_type = "Double",
                           .name = "double_f32",
                           .since = 1,
                           .types = constraints,
                           .n_types = 1,
                           .compute = KERNEL_COMPUTE},
    {GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE}};

/* ---- provider ---- */

static const struct tn_provider_def provider = {
    .struct_size = TN_PROVIDER_DEF_SIZE, .id = "fake", .capability = tn_claim_served};

/* ---- a function that other libraries and the host program have too ---- */

#ifdef HELPER
int tenon_test_helper(void);

__attribute__((visibility("default"))) int tenon_test_helper(void) {
    return HELPER;
}

/* What this plugin reaches under that name. */
static const void *get_extension(void *state, const char *id) {
    static int value;
    (void)state;
    (void)id;
    value = tenon_test_helper();
    return &value;
}
#else
/* What other plugins may ask for. */
static const void *get_extension(void *state, const char *id) {
    static const int service = 42;
    (void)state;
    return strcmp(id, "test.fake/1") == 0 ? &service : NULL;
}
#endif

static const char *const services[] = {"test.fake/1", NULL};

/* ---- plugin ---- */

static tn_status get_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    static const struct tn_op_def *const table[] = {OPS};
    (void)state;
    *out_table = table;
    *out_count = sizeof table / sizeof table[0];
    return TABLE_STATUS;
}

static tn_status get_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    static const struct tn_kernel_def *const table[] = {KERNELS};
    (void)state;
    *out_table = table;
    *out_count = sizeof table / sizeof table[0];
    return TN_OK;
}

static tn_status get_providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *const table[] = {PROVIDERS};
    (void)state;
    *out_table = table;
    *out_count = sizeof table / sizeof table[0];
    return TN_OK;
}

/* Takes memory, so that a start or a stop that is forgotten shows as a leak. */
static tn_status start(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    if (INIT_STATUS != TN_OK)
        return tn_fail(diag, INIT_STATUS, "the fake device is on fire");
    const struct tn_host **state = host->alloc(host->self, sizeof *state, 0, "fake");
    if (!state) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the fake");
#ifdef ASKS_ITSELF
    if (host->get_extension(host->self, services[0]))
        return tn_fail(diag, TN_INTERNAL, "a service was there before its plugin");
#endif
    *state = host;
    *out_state = state;
    return TN_OK;
}

static void stop(void *state) {
    const struct tn_host *host = *(const struct tn_host **)state;
    host->free(host->self, state);
}

static const struct {
    struct tn_plugin plugin;
    uint64_t garbage[8];
} descriptor = {{.struct_size = DESC_SIZE,
                    .flags = DESC_FLAGS,
                    .abi_minor = DESC_MINOR,
                    .host_minor_min = DESC_HOST_MIN,
                    .id = DESC_ID,
                    .name = "Fake",
                    .version = DESC_VERSION,
                    .vendor = "Tenon's tests",
                    .licence = "Apache-2.0",
                    .sanitizer = DESC_SANITIZER,
                    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS |
                                    TN_PLUGIN_HAS_PROVIDERS,
                    .init = start,
                    .shutdown = stop,
                    .ops = DESC_OPS,
                    .kernels = get_kernels,
                    .providers = get_providers,
                    .get_extension = get_extension,
                    .services = services},
    {GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE}};

#ifndef NO_NOTE
__attribute__((section(".note.tenon"), used,
    aligned(4))) static const struct tn_plugin_note note = {sizeof(TN_NOTE_OWNER),
    (uint32_t)(sizeof(struct tn_plugin_note) -
               offsetof(struct tn_plugin_note, abi_major)),
    TN_NOTE_ABI, TN_NOTE_OWNER, NOTE_MAJOR, NOTE_MINOR, NOTE_HOST_MIN, NOTE_SANITIZER,
    NOTE_ID};
#endif

#ifdef NEEDS_ABSENT
int tenon_absent(void);
#define TOUCH_ABSENT() (void)tenon_absent()
#else
#define TOUCH_ABSENT() (void)0
#endif

__attribute__((visibility("default"))) tn_status FAKE_ENTRY(
    const struct tn_host_info *host, const struct tn_plugin **out);

__attribute__((visibility("default"))) tn_status FAKE_ENTRY(
    const struct tn_host_info *host, const struct tn_plugin **out) {
    if (host->abi_major != TN_ABI_MAJOR) TOUCH_ABSENT();
    if (QUERY_STATUS == TN_OK) *out = &descriptor.plugin;
    return QUERY_STATUS;
}
