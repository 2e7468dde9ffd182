/* The plugin "org.tenon.cpu": domain ai.onnx and the provider "cpu". Collects the tables of
 * the operator families and chooses the instruction-set level. */
#include "cpu.h"

#include "gemm_service.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "tenon/ext/draft/pass.h"
#include "tenon/helper/isa_choice.h"
#include "tenon/provider.h"

static const struct tn_family *const families[] = {TN_FAMILIES(TN_FAMILY_ADDRESS)};

static void cpu_shutdown(void *state) {
    struct tn__cpu *cpu = state;
    if (!cpu) return;
    tn_tables_free(cpu->host, &cpu->tables);
    cpu->host->free(cpu->host->self, cpu);
}

static tn_status cpu_init(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    struct tn__cpu *cpu = host->alloc(host->self, sizeof *cpu, 0, "cpu state");
    if (!cpu)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the cpu plugin's state");
    memset(cpu, 0, sizeof *cpu);
    cpu->host = host;
    tn_status status = tn_isa_choose(host, &cpu->isa, diag);
    if (status == TN_OK)
        status =
            tn_tables_collect(host, families, TN_COUNT(families), &cpu->tables, diag);
    if (status != TN_OK) {
        cpu_shutdown(cpu);
        return status;
    }
    tn_gemm_kernels_init(&cpu->gemm, cpu->isa);
    tn_gemm_f64_kernels_init(&cpu->gemm_f64, cpu->isa);
    tn_depthwise_kernels_init(&cpu->depthwise, cpu->isa);
    tn_winograd_kernels_init(&cpu->winograd, cpu->isa);
    tn_elementwise_kernels_init(&cpu->elementwise, cpu->isa);
    tn_vmath_kernels_init(&cpu->vmath, cpu->isa);
    tn_norm_kernels_init(&cpu->norm, cpu->isa);
    tn_softmax_kernels_init(&cpu->softmax, cpu->isa);
    tn_reduce_kernels_init(&cpu->reduce, cpu->isa);
    tn_convert_kernels_init(&cpu->convert, cpu->isa);
    tn_pool_kernels_init(&cpu->pool, cpu->isa);
    tn_transpose_kernels_init(&cpu->transpose, cpu->isa);
    tn__gemm_service_init(cpu);
    *out_state = cpu;
    return TN_OK;
}

static tn_status cpu_providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *const table[] = {&tn__cpu_provider};
    (void)state;
    *out_table = table;
    *out_count = TN_COUNT(table);
    return TN_OK;
}

static const void *cpu_extension(void *state, const char *id) {
    const struct tn__cpu *cpu = state;
    if (strcmp(id, TN_GEMM_SERVICE) == 0) return &cpu->gemm_service;
    return strcmp(id, TN_PASS_EXTENSION) == 0 ? &tn__cpu_passes : NULL;
}

static const char *const services[] = {TN_GEMM_SERVICE, NULL};

static const struct tn_plugin plugin = {
    .struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.cpu",
    .name = "ONNX operators on the CPU",
    .version = TN_CPU_VERSION,
    .vendor = "Tenon",
    .licence = "Apache-2.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS | TN_PLUGIN_HAS_PROVIDERS,
    .init = cpu_init,
    .shutdown = cpu_shutdown,
    .ops = tn_tables_ops,
    .kernels = tn_tables_kernels,
    .providers = cpu_providers,
    .get_extension = cpu_extension,
    .services = services,
};

TN_DEFINE_PLUGIN(plugin, "org.tenon.cpu");
