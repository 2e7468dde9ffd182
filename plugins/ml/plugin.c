/* The plugin "org.tenon.ml": domain ai.onnx.ml. Collects the tables of the operator families. */
#include "ml.h"

#include "passes/ml_passes.h"
#include "tenon/helper/isa_choice.h"

static const struct tn_family *const families[] = {TN_ML_FAMILIES(TN_FAMILY_ADDRESS)};

static void ml_shutdown(void *state) {
    struct tn__ml *ml = state;
    if (!ml) return;
    tn_tables_free(ml->host, &ml->tables);
    ml->host->free(ml->host->self, ml);
}

static tn_status choose_compat(
    const struct tn_host *host, enum tn_compat *out, struct tn_diag *diag) {
    const char *wanted = host->config(host->self, "compat");
    *out = TN_COMPAT_ONNX;
    if (!wanted || strcmp(wanted, "onnx") == 0) return TN_OK;
    *out = TN_COMPAT_ORT;
    if (strcmp(wanted, "ort") == 0) return TN_OK;
    return tn_fail(
        diag, TN_INVALID_ARGUMENT, "compat is '%s', expected onnx or ort", wanted);
}

static tn_status ml_init(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    struct tn__ml *ml = host->alloc(host->self, sizeof *ml, 0, "ml state");
    if (!ml)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the ml plugin's state");
    memset(ml, 0, sizeof *ml);
    ml->host = host;
    tn_status status = tn_isa_choose(host, &ml->isa, diag);
    if (status == TN_OK) status = choose_compat(host, &ml->compat, diag);
    if (status == TN_OK)
        status = tn_tables_collect(host, families, TN_COUNT(families), &ml->tables, diag);
    if (status != TN_OK) {
        ml_shutdown(ml);
        return status;
    }
    tn_rows_kernels_init(&ml->rows, ml->isa);
    *out_state = ml;
    return TN_OK;
}

static const void *ml_extension(void *state, const char *id) {
    (void)state;
    return strcmp(id, TN_PASS_EXTENSION) == 0 ? &tn__ml_passes : NULL;
}

static const struct tn_plugin plugin = {
    .struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.ml",
    .name = "ONNX-ML operators on the CPU",
    .version = TN_ML_VERSION,
    .vendor = "Tenon",
    .licence = "Apache-2.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS,
    .init = ml_init,
    .shutdown = ml_shutdown,
    .ops = tn_tables_ops,
    .kernels = tn_tables_kernels,
    .get_extension = ml_extension,
};

TN_DEFINE_PLUGIN(plugin, "org.tenon.ml");
