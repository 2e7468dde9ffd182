/* The plugin "org.tenon.cpu": domain ai.onnx and the provider "cpu". Collects the tables of
 * the operator families and chooses the instruction-set level. */
#include "cpu.h"

#include "ops/ops.h"
#include "passes/passes.h"
#include "tenon/ext/draft/pass.h"
#include "tenon/provider.h"

static const struct tn__family *const families[] = {
#define FAMILY_ADDRESS(name) &tn__family_##name,
    TN_FAMILIES(FAMILY_ADDRESS)
#undef FAMILY_ADDRESS
};

/* Level names of the configuration key "isa", lowest first, with the features each needs. */
static const struct {
    const char *name;
    uint64_t features;
} levels[TN_ISA_COUNT] = {
    [TN_ISA_SCALAR] = {"scalar", 0},
    [TN_ISA_AVX2] = {"avx2", TN_CPU_AVX2},
    [TN_ISA_AVX512] = {"avx512", TN_CPU_AVX2 | TN_CPU_AVX512},
    [TN_ISA_AVX512VNNI] = {"avx512vnni",
        TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX512_VNNI | TN_CPU_AVX512_BF16},
};

/* The best level that the processor has and the configuration allows. */
static tn_status choose_isa(
    const struct tn_host *host, enum tn_isa *out, struct tn_diag *diag) {
    const char *wanted = host->config(host->self, "isa");
    uint32_t limit = TN_ISA_COUNT - 1, level = 0;
    if (wanted) {
        for (limit = 0; limit < TN_ISA_COUNT; limit++)
            if (strcmp(levels[limit].name, wanted) == 0) break;
        if (limit == TN_ISA_COUNT)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "isa is '%s', expected one of scalar, avx2, avx512, avx512vnni", wanted);
    }
    while (level < limit && (host->cpu_features & levels[level + 1].features) ==
                                levels[level + 1].features)
        level++;
    *out = (enum tn_isa)level;
    return TN_OK;
}

static void cpu_shutdown(void *state) {
    struct tn__cpu *cpu = state;
    if (!cpu) return;
    cpu->host->free(cpu->host->self, cpu->ops);
    cpu->host->free(cpu->host->self, cpu->kernels);
    cpu->host->free(cpu->host->self, cpu);
}

/* Flattens the families into the two tables of pointers that the host reads. */
static tn_status collect(struct tn__cpu *cpu, struct tn_diag *diag) {
    const struct tn_host *host = cpu->host;
    size_t n_ops = 0, n_kernels = 0;
    for (size_t f = 0; f < TN_COUNT(families); f++) {
        n_ops += families[f]->n_defs;
        n_kernels += families[f]->n_kernels;
    }
    cpu->ops = host->alloc(host->self, n_ops * sizeof *cpu->ops, 0, "cpu tables");
    cpu->kernels =
        host->alloc(host->self, n_kernels * sizeof *cpu->kernels, 0, "cpu tables");
    if (!cpu->ops || !cpu->kernels)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the cpu plugin's tables");
    for (size_t f = 0; f < TN_COUNT(families); f++) {
        for (uint32_t i = 0; i < families[f]->n_defs; i++)
            cpu->ops[cpu->n_ops++] = &families[f]->defs[i];
        for (uint32_t i = 0; i < families[f]->n_kernels; i++)
            cpu->kernels[cpu->n_kernels++] = &families[f]->kernels[i];
    }
    return TN_OK;
}

static tn_status cpu_init(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    struct tn__cpu *cpu = host->alloc(host->self, sizeof *cpu, 0, "cpu state");
    if (!cpu)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the cpu plugin's state");
    memset(cpu, 0, sizeof *cpu);
    cpu->host = host;
    tn_status status = choose_isa(host, &cpu->isa, diag);
    if (status == TN_OK) status = collect(cpu, diag);
    if (status != TN_OK) {
        cpu_shutdown(cpu);
        return status;
    }
    tn_gemm_kernels_init(&cpu->gemm, cpu->isa);
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
    *out_state = cpu;
    return TN_OK;
}

static tn_status cpu_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    const struct tn__cpu *cpu = state;
    *out_table = cpu->ops;
    *out_count = cpu->n_ops;
    return TN_OK;
}

static tn_status cpu_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    const struct tn__cpu *cpu = state;
    *out_table = cpu->kernels;
    *out_count = cpu->n_kernels;
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
    (void)state;
    return strcmp(id, TN_PASS_EXTENSION) == 0 ? &tn__cpu_passes : NULL;
}

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
    .ops = cpu_ops,
    .kernels = cpu_kernels,
    .providers = cpu_providers,
    .get_extension = cpu_extension,
};

TN_DEFINE_PLUGIN(plugin, "org.tenon.cpu");
