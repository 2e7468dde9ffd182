/* The plugin "org.tenon.text": operators on strings of ai.onnx and of
 * com.microsoft. Collects the tables of the operator families. */
#include "text.h"

static const struct tn_family *const families[] = {TN_TEXT_FAMILIES(TN_FAMILY_ADDRESS)};

static void text_shutdown(void *state) {
    struct tn__text *text = state;
    if (!text) return;
    tn_tables_free(text->host, &text->tables);
    text->host->free(text->host->self, text);
}

static tn_status text_init(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    struct tn__text *text = host->alloc(host->self, sizeof *text, 0, "text state");
    if (!text)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the text plugin's state");
    memset(text, 0, sizeof *text);
    text->host = host;
    tn_status status =
        tn_tables_collect(host, families, TN_COUNT(families), &text->tables, diag);
    if (status != TN_OK) {
        text_shutdown(text);
        return status;
    }
    *out_state = text;
    return TN_OK;
}

static const struct tn_plugin plugin = {
    .struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.text",
    .name = "Text operators on the CPU",
    .version = TN_TEXT_VERSION,
    .vendor = "Tenon",
    .licence = "Apache-2.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS,
    .init = text_init,
    .shutdown = text_shutdown,
    .ops = tn_tables_ops,
    .kernels = tn_tables_kernels,
};

TN_DEFINE_PLUGIN(plugin, "org.tenon.text");
