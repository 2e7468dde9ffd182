/* Every table that a plugin hands over, bent in every way it may be: built against a shorter or
 * a longer header, with a size that cannot be, with reserved fields and flags that are not zero,
 * and with each of its functions left out in turn. The plugin works, or is refused with a
 * sentence; nothing crashes. */
#include "tenon/helper/claim.h" /* its parameter `diag` comes before the fixture's */

#include "npu_fixture.h"

#include "tenon/ext/draft/pass.h"
#include "tenon/op.h"

#include <dlfcn.h>

/* ---- bending --------------------------------------------------------------------------- */

enum part {
    DESC,
    OP,
    KERNEL,
    PASSES,
    PASS,
    TAME,
    PROVIDER,
    LIMITS,
    SPACE,
    COMPILED,
    RECORD,
    DEVICE
};
enum { NO_FIELD = 0xffff, TAIL = 64, MOST_ROWS = 64, MOST_BYTES = 512 };

/* What is done to every table of one kind: its size becomes `size` when `sized`, the 4 bytes at
 * `mark` become `value`, the 8 bytes at `null` become NULL. */
static struct {
    enum part part;
    int sized;
    uint32_t size;
    uint32_t mark, value, null;
} bend;

static _Alignas(64) unsigned char rows[MOST_ROWS][MOST_BYTES];
static int n_rows;

/* The table as it is handed over: a copy with garbage behind it, bent when it is its turn. */
static void *handed(enum part part, const void *table, size_t size) {
    ck_assert_int_lt(n_rows, MOST_ROWS);
    unsigned char *row = rows[n_rows++];
    memset(row, 0xa5, MOST_BYTES);
    memcpy(row, table, size);
    if (bend.part != part) return row;
    if (bend.sized) memcpy(row, &bend.size, sizeof bend.size);
    if (bend.mark != NO_FIELD) memcpy(row + bend.mark, &bend.value, 4);
    if (bend.null != NO_FIELD) memset(row + bend.null, 0, sizeof(void *));
    return row;
}
#define HANDED(part, p) handed(part, p, sizeof *(p))

static void no_bend(void) {
    bend.sized = 0;
    bend.mark = bend.null = NO_FIELD;
    n_rows = 0;
}

/* ---- a plugin that can do without any of its functions ---------------------------------- */

static tn_status tame_infer(const struct tn_infer *infer) {
    return infer->set_type(infer->self, 0, &infer->inputs[0]);
}

static int32_t tame_elide(const struct tn_infer *infer) {
    (void)infer;
    return -1;
}

static tn_status tame_expand(const struct tn_rewrite *rw) {
    return tn_fail(rw->diag, TN_UNSUPPORTED, "it has a kernel");
}

static const struct tn_op_version tame_versions[] = {{1, 0, NULL}};
static const struct tn_type_var tame_vars[] = {{"T", TN_BIT(FLOAT), 0, 0, 0}};
static const struct tn_formal tame_in[] = {{"x", "T", 0, 0, 0}, {"w", "T", 0, 0, 0}};
static const struct tn_formal tame_out[] = {{"y", "T", 0, 0, 0}};
static const struct tn_op_def tame_op = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "tame",
    .op_type = "Scale",
    .versions = tame_versions,
    .inputs = tame_in,
    .outputs = tame_out,
    .type_vars = tame_vars,
    .n_versions = 1,
    .n_inputs = 2,
    .n_outputs = 1,
    .n_type_vars = 1,
    .infer = tame_infer,
    .elide = tame_elide,
    .expand = tame_expand};

static tn_status tame_create(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    (void)ctx;
    (void)out_kernel;
    return TN_OK;
}

static void tame_destroy(void *kernel) {
    (void)kernel;
}

static tn_status tame_prepack(void *kernel, uint32_t input,
    const struct tn_tensor *tensor, const struct tn_prepack *sink, uint32_t *out_result,
    struct tn_diag *d) {
    (void)kernel;
    (void)input;
    (void)tensor;
    (void)sink;
    (void)d;
    *out_result = TN_PREPACK_NONE;
    return TN_OK;
}

static tn_status tame_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->scratch = out->state = 8;
    return TN_OK;
}

static tn_status tame_compute(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const struct tn_tensor *w = args->inputs[1].as.tensor;
    (void)kernel;
    if (!args->outputs[0].as.tensor->data)
        TN_TRY(args->run->output_alloc(args->run, args, 0, TN_FLOAT, x->dims, x->rank));
    for (uint64_t i = 0; i < x->size / 4; i++)
        ((float *)args->outputs[0].as.tensor->data)[i] =
            ((const float *)x->data)[i] * ((const float *)w->data)[0];
    return TN_OK;
}

static tn_status tame_prepare(
    void *kernel, const struct tn_run_args *args, tn_compute_fn *fn, struct tn_diag *d) {
    (void)kernel;
    (void)args;
    (void)d;
    *fn = tame_compute;
    return TN_OK;
}

static void tame_cost(void *kernel, const struct tn_run_args *args, struct tn_cost *out) {
    (void)kernel;
    (void)args;
    out->flops = out->bytes = 8;
}

static void tame_explain(
    void *kernel, const struct tn_run_args *args, char *out, uint64_t size) {
    (void)kernel;
    (void)args;
    snprintf(out, size, "the only way");
}

static const struct tn_kernel_def tame_kernel = {.struct_size = TN_KERNEL_DEF_SIZE,
    .provider = "tame",
    .domain = "tame",
    .op_type = "Scale",
    .since = 1,
    .create = tame_create,
    .destroy = tame_destroy,
    .prepack = tame_prepack,
    .workspace = tame_workspace,
    .prepare = tame_prepare,
    .compute = tame_compute,
    .cost = tame_cost,
    .explain = tame_explain};

static tn_status tame_pass_run(const struct tn_pass_ctx *ctx, uint32_t *out_changes) {
    (void)ctx;
    (void)out_changes;
    return TN_OK;
}

static const struct tn_pass_def tame_pass = {.struct_size = sizeof tame_pass,
    .name = "tame",
    .doc = "changes nothing",
    .run = tame_pass_run};

static const struct tn_provider_def tame_provider = {
    .struct_size = TN_PROVIDER_DEF_SIZE, .id = "tame", .capability = tn_claim_served};

/* One row for each table function, bent when it is fetched. */
#define TABLE(function, type, part, row)                                                 \
    static tn_status function(                                                           \
        void *state, const struct type *const **out_table, uint32_t *out_count) {        \
        static const struct type *table[1];                                              \
        (void)state;                                                                     \
        table[0] = HANDED(part, &row);                                                   \
        *out_table = table;                                                              \
        *out_count = 1;                                                                  \
        return TN_OK;                                                                    \
    }
TABLE(tame_ops, tn_op_def, OP, tame_op)
TABLE(tame_kernels, tn_kernel_def, KERNEL, tame_kernel)
TABLE(tame_providers, tn_provider_def, TAME, tame_provider)

static const void *tame_extension(void *state, const char *id) {
    static const struct tn_pass_def *table[1];
    (void)state;
    if (strcmp(id, TN_PASS_EXTENSION) != 0) return NULL;
    table[0] = HANDED(PASS, &tame_pass);
    struct tn_pass_extension extension = {sizeof extension, 1, table};
    return HANDED(PASSES, &extension);
}

static tn_status tame_init(
    const struct tn_host *host, void **out_state, struct tn_diag *d) {
    (void)host;
    (void)out_state;
    (void)d;
    return TN_OK;
}

static void tame_shutdown(void *state) {
    (void)state;
}

static const char *const tame_services[] = {"test.tame/1", NULL};
TEST_PLUGIN("org.tenon.tame",
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS | TN_PLUGIN_HAS_PROVIDERS,
    .init = tame_init, .shutdown = tame_shutdown, .ops = tame_ops,
    .kernels = tame_kernels, .providers = tame_providers, .get_extension = tame_extension,
    .services = tame_services)

static tn_status query_tame(
    const struct tn_host_info *host, const struct tn_plugin **out) {
    const struct tn_plugin *plugin;
    TN_TRY(odd_query(host, &plugin));
    *out = HANDED(DESC, plugin);
    return TN_OK;
}

/* ---- the fake NPU, its tables copied and bent ------------------------------------------- */

static const struct tn_plugin *npu_plugin;
static const struct tn_provider_def *npu; /* as it is */
static const struct tn_compiled
    *orphan; /* whose bent copy does not tell the host how to end it */

static const struct tn_provider_limits *npu_limits(void *instance) {
    return HANDED(LIMITS, npu->limits(instance));
}

static const struct tn_context_record *npu_record(void *instance) {
    return HANDED(RECORD, npu->context_record(instance));
}

static void npu_spaces(
    void *instance, const struct tn_space *const **out_spaces, uint32_t *out_n) {
    static const struct tn_space *table[4];
    const struct tn_space *const *spaces = NULL;
    npu->spaces(instance, &spaces, out_n);
    ck_assert_uint_le(*out_n, 4);
    for (uint32_t i = 0; i < *out_n; i++)
        table[i] = HANDED(SPACE, spaces[i]);
    *out_spaces = table;
}

static tn_status npu_compile(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *d) {
    const struct tn_compiled *compiled;
    TN_TRY(npu->compile(instance, group, &compiled, d));
    const struct tn_compiled *row = HANDED(COMPILED, compiled);
    if (!TN_HAS(row, destroy)) orphan = compiled;
    *out = row;
    return TN_OK;
}

static void npu_destroy(void *instance) {
    if (orphan) orphan->destroy(orphan->self);
    orphan = NULL;
    npu->destroy(instance);
}

struct listener {
    void (*emit)(void *arg, const struct tn_device *device);
    void *arg;
};

static void bend_device(void *arg, const struct tn_device *device) {
    const struct listener *listener = arg;
    listener->emit(listener->arg, HANDED(DEVICE, device));
}

static void npu_devices(
    void *state, void (*emit)(void *arg, const struct tn_device *device), void *arg) {
    struct listener listener = {emit, arg};
    npu->devices(state, bend_device, &listener);
}

static tn_status npu_providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *table[1];
    const struct tn_provider_def *const *all;
    uint32_t n;
    TN_TRY(npu_plugin->providers(state, &all, &n));
    npu = all[0];
    struct tn_provider_def def = *npu;
    ck_assert_str_eq(def.id, "fake.npu");
    def.devices = npu_devices;
    def.limits = npu_limits;
    def.context_record = npu_record;
    def.spaces = npu_spaces;
    def.compile = npu_compile;
    def.destroy = npu_destroy;
    table[0] = HANDED(PROVIDER, &def);
    *out_table = table;
    *out_count = 1;
    return TN_OK;
}

static tn_status query_npu(
    const struct tn_host_info *host, const struct tn_plugin **out) {
    static struct tn_plugin plugin;
    if (!npu_plugin) {
        void *handle = dlopen(FAKES_DIR "/org.tenon.fake-npu.so", RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(handle != NULL, "%s", dlerror());
        void *symbol = dlsym(handle, TN_PLUGIN_ENTRY_NAME);
        tn_plugin_query_fn query;
        memcpy(&query, &symbol, sizeof query);
        TN_TRY(query(host, &npu_plugin));
    }
    plugin = *npu_plugin;
    plugin.providers = npu_providers;
    *out = &plugin;
    return TN_OK;
}

/* ---- one life ---------------------------------------------------------------------------- */

static const char scale[] = "<ir_version: 10, opset_import: [\"tame\" : 1]> "
                            "g (float[2] x) => (float[2] y) <float[1] w = {3}> {"
                            " y = tame.Scale(x, w) }";
static const char product[] = ONNX_HEADER "g (float[2] x) => (float[2] y) {"
                                          " a = Add(x, x) y = Mul(a, x) }";

static tn_status run_twice(const float *want) {
    for (int i = 0; i < 2; i++) {
        set_floats(0, FLOATS(1, -2), 2);
        memset(&diag, 0, sizeof diag);
        TN_TRY(tn_context_run(context, NULL, &diag));
        assert_floats(0, want, 2);
    }
    return TN_OK;
}

/* Loads, makes a session, reports, exports, runs, shuts down. */
static tn_status live(int with_npu) {
    static const struct setup npu_setup = {"fake.npu", "strict",
        {"provider:fake.npu/streams", "1", "context.write", "/dev/null", NULL}};
    static const struct setup tame_setup = {"tame", "strict", {NULL}};
    n_rows = 0;
    start_runtime("1");
    memset(&diag, 0, sizeof diag);
    tn_status status = tn__registry_add_static(
        runtime->registry, with_npu ? query_npu : query_tame, &diag);
    if (status == TN_OK)
        status =
            with_npu ? try_setup(product, &npu_setup) : try_setup(scale, &tame_setup);
    if (status == TN_OK) {
        report(TN_FORMAT_JSON);
        status = run_twice(with_npu ? FLOATS(2, 8) : FLOATS(3, -6));
    }
    struct tn_diag kept = diag;
    tear_down_runtime();
    diag = kept;
    ck_assert_msg(
        status == TN_OK || diag.message[0], "code %d without a sentence", status);
    return status;
}

/* ---- sizes, reserved fields, flags ------------------------------------------------------- */

static const struct {
    enum part part;
    uint32_t size;     /* today's */
    uint32_t reserved; /* offset of a reserved field, or NO_FIELD */
    int exact;         /* a draft: any other size is not used, which is no error */
} parts[] = {
    {DESC, TN_PLUGIN_SIZE, NO_FIELD, 0},
    {OP, TN_OP_DEF_SIZE, offsetof(struct tn_op_def, reserved), 0},
    {KERNEL, TN_KERNEL_DEF_SIZE, offsetof(struct tn_kernel_def, reserved), 0},
    {PASSES, sizeof(struct tn_pass_extension), NO_FIELD, 1},
    {PASS, sizeof(struct tn_pass_def), NO_FIELD, 1},
    {TAME, TN_PROVIDER_DEF_SIZE, offsetof(struct tn_provider_def, reserved), 0},
    {PROVIDER, TN_PROVIDER_DEF_SIZE, offsetof(struct tn_provider_def, reserved), 0},
    {LIMITS, TN_PROVIDER_LIMITS_SIZE, NO_FIELD, 0},
    {SPACE, TN_SPACE_SIZE, offsetof(struct tn_space, reserved), 0},
    {COMPILED, TN_COMPILED_SIZE, NO_FIELD, 0},
    {RECORD, TN_CONTEXT_RECORD_SIZE, NO_FIELD, 0},
};

static void assert_lives(int i, const char *what) {
    tn_status status = live(parts[i].part >= PROVIDER);
    ck_assert_msg(status == TN_OK, "part %d, %s: %s", i, what, diag.message);
}

static void assert_refused(int i, const char *what) {
    tn_status status = live(parts[i].part >= PROVIDER);
    ck_assert_msg(status == TN_PLUGIN, "part %d, %s: code %d %s", i, what, (int)status,
        diag.message);
}

START_TEST(a_table_of_another_size_works_or_is_refused) {
    no_bend();
    bend.part = parts[_i].part;
    bend.sized = 1;
    bend.size = parts[_i].size;
    assert_lives(_i, "as it is");
    if (parts[_i].exact) return;
    bend.size = parts[_i].size + 8;
    assert_lives(_i, "8 bytes longer");
    bend.size = parts[_i].size + TAIL;
    assert_lives(_i, "64 bytes longer");
    bend.size = parts[_i].size - 8;
    /* without the spaces of its borders the NPU cannot follow the addresses, and says so */
    if (parts[_i].part == COMPILED)
        ck_assert_int_ne(live(1), TN_OK);
    else
        assert_lives(_i, "8 bytes shorter");
    static const uint32_t lies[] = {0, 4, 0x7fffffff, UINT32_MAX};
    for (size_t k = 0; k < COUNT_OF(lies); k++) {
        bend.size = lies[k];
        assert_refused(_i, "a size that cannot be");
        ck_assert_msg(strstr(diag.message, "bytes, expected"), "%s", diag.message);
    }
}
END_TEST

START_TEST(a_draft_of_another_size_is_not_used) {
    no_bend();
    bend.part = PASSES;
    bend.sized = 1;
    for (int delta = -8; delta <= 8; delta += 16) {
        bend.size = (uint32_t)((int)sizeof(struct tn_pass_extension) + delta);
        ck_assert_msg(live(0) == TN_OK, "%s", diag.message);
    }
    bend.part = PASS;
    bend.size = 0;
    ck_assert_int_eq(live(0), TN_PLUGIN);
}
END_TEST

START_TEST(what_is_reserved_and_flags_that_nobody_knows_are_refused) {
    no_bend();
    bend.part = parts[_i].part;
    if (parts[_i].reserved != NO_FIELD) {
        bend.mark = parts[_i].reserved;
        bend.value = 1;
        assert_refused(_i, "reserved");
    }
    if (parts[_i].exact) return;
    no_bend();
    bend.mark = 4;      /* the flags … */
    bend.value = 0x100; /* … critical, and not defined anywhere */
    assert_refused(_i, "flags");
    ck_assert_msg(strstr(diag.message, "flags 0x100"), "%s", diag.message);
}
END_TEST

START_TEST(a_device_of_another_size_is_listed_or_left_out) {
    static const struct {
        uint32_t size;
        int listed;
    } sizes[] = {{TN_DEVICE_SIZE, 1}, {TN_DEVICE_SIZE - 8, 1}, {TN_DEVICE_SIZE + 8, 1},
        {TN_DEVICE_SIZE + TAIL, 1}, {TN_END_OF(struct tn_device, name), 1}, {16, 0},
        {0, 0}};
    no_bend();
    bend.part = DEVICE;
    bend.sized = 1;
    set_up_runtime();
    assert_ok(tn__registry_add_static(runtime->registry, query_npu, &diag), diag);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        bend.size = sizes[i].size;
        report_size = 0;
        assert_ok(tn_runtime_report(
                      runtime, TN_REPORT_DOCTOR, TN_FORMAT_TEXT, collect, NULL, &diag),
            diag);
        ck_assert_msg(!strstr(report_text, "older fake NPU") == !sizes[i].listed,
            "%u bytes: %s", sizes[i].size, report_text);
        ck_assert_msg(!strstr(report_text, "sdk 1.0") == (bend.size < TN_DEVICE_SIZE),
            "%u bytes: %s", sizes[i].size, report_text);
    }
    tear_down_runtime();
}
END_TEST

/* ---- functions left out ------------------------------------------------------------------- */

#define F(part, type, field, needed)                                                     \
    { part, offsetof(struct type, field), needed, #type "." #field }
/* clang-format off */
static const struct {
    enum part part;
    uint32_t at;
    int needed; /* 1: refused without it; 0: works; 2: one or the other */
    const char *name;
} functions[] = {
    F(DESC, tn_plugin, init, 0), F(DESC, tn_plugin, shutdown, 0), F(DESC, tn_plugin, ops, 1),
    F(DESC, tn_plugin, kernels, 1), F(DESC, tn_plugin, providers, 1),
    F(DESC, tn_plugin, get_extension, 0), F(DESC, tn_plugin, services, 0),
    F(OP, tn_op_def, infer, 0), F(OP, tn_op_def, elide, 0), F(OP, tn_op_def, expand, 0),
    F(KERNEL, tn_kernel_def, create, 0), F(KERNEL, tn_kernel_def, destroy, 0),
    F(KERNEL, tn_kernel_def, prepack, 0), F(KERNEL, tn_kernel_def, workspace, 0),
    F(KERNEL, tn_kernel_def, prepare, 0), F(KERNEL, tn_kernel_def, compute, 1),
    F(KERNEL, tn_kernel_def, cost, 0), F(KERNEL, tn_kernel_def, explain, 0),
    F(PASSES, tn_pass_extension, passes, 1), F(PASS, tn_pass_def, run, 1),
    F(TAME, tn_provider_def, capability, 1),
    F(PROVIDER, tn_provider_def, devices, 0), F(PROVIDER, tn_provider_def, limits, 0),
    F(PROVIDER, tn_provider_def, capability, 1), F(PROVIDER, tn_provider_def, estimate, 0),
    F(PROVIDER, tn_provider_def, compile, 1), F(PROVIDER, tn_provider_def, spaces, 2),
    F(PROVIDER, tn_provider_def, space_alloc, 1), F(PROVIDER, tn_provider_def, space_free, 1),
    F(PROVIDER, tn_provider_def, copy, 1), F(PROVIDER, tn_provider_def, import_host, 2),
    F(PROVIDER, tn_provider_def, import_release, 2), F(PROVIDER, tn_provider_def, stream_create, 1),
    F(PROVIDER, tn_provider_def, stream_destroy, 1), F(PROVIDER, tn_provider_def, stream_sync, 1),
    F(PROVIDER, tn_provider_def, context_record, 0), F(PROVIDER, tn_provider_def, context_validate, 0),
    F(PROVIDER, tn_provider_def, context_export, 2), F(PROVIDER, tn_provider_def, context_import, 0),
    F(PROVIDER, tn_provider_def, context_sources, 0),
    F(COMPILED, tn_compiled, run, 1), F(COMPILED, tn_compiled, destroy, 0), F(COMPILED, tn_compiled, workspace, 2),
    F(COMPILED, tn_compiled, prepare, 2), F(COMPILED, tn_compiled, input_spaces, 2),
    F(COMPILED, tn_compiled, output_spaces, 2),
};
/* clang-format on */

START_TEST(a_plugin_without_one_of_its_functions_works_or_is_refused) {
    no_bend();
    bend.part = functions[_i].part;
    bend.null = functions[_i].at;
    tn_status status = live(functions[_i].part >= PROVIDER);
    if (functions[_i].needed != 2)
        ck_assert_msg((status != TN_OK) == functions[_i].needed, "without %s: code %d %s",
            functions[_i].name, (int)status, diag.message);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_loop_test(
        tests, a_table_of_another_size_works_or_is_refused, 0, COUNT_OF(parts));
    tcase_add_test(tests, a_draft_of_another_size_is_not_used);
    tcase_add_test(tests, a_device_of_another_size_is_listed_or_left_out);
    tcase_add_loop_test(tests, what_is_reserved_and_flags_that_nobody_knows_are_refused,
        0, COUNT_OF(parts));
    tcase_add_loop_test(tests, a_plugin_without_one_of_its_functions_works_or_is_refused,
        0, COUNT_OF(functions));
}

UNIT_MAIN("tables")
