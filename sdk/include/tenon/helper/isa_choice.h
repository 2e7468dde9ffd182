/* Which instruction-set level a plugin's kernels run at. */
#ifndef TENON_HELPER_ISA_CHOICE_H
#define TENON_HELPER_ISA_CHOICE_H

#include "tenon/helper/diag.h"
#include "tenon/isa.h"
#include "tenon/plugin.h"

#include <string.h>

/* The best level that the processor has and the configuration key "isa" of the plugin allows.
 * Errors: TN_INVALID_ARGUMENT for a name that is no level. Setup. */
static inline tn_status tn_isa_choose(
    const struct tn_host *host, enum tn_isa *out, struct tn_diag *diag) {
    /* names of the key, in the order of enum tn_isa, with the features that each needs */
    static const struct {
        const char *name;
        uint64_t features;
    } levels[] = {
        {"scalar", 0},
        {"avx2", TN_CPU_AVX2},
        {"avx512", TN_CPU_AVX2 | TN_CPU_AVX512},
        {"avx512vnni",
            TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX512_VNNI | TN_CPU_AVX512_BF16},
    };
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

/* The processor's features (TN_CPU_*) without those above the level. */
static inline uint64_t tn_isa_features(const struct tn_host *host, enum tn_isa isa) {
    uint64_t above = 0;
    if (isa < TN_ISA_AVX512VNNI)
        above |= TN_CPU_AVX512_VNNI | TN_CPU_AVX512_BF16 | TN_CPU_AVX_VNNI;
    if (isa < TN_ISA_AVX512) above |= TN_CPU_AVX512;
    if (isa < TN_ISA_AVX2) above |= TN_CPU_AVX2;
    return host->cpu_features & ~above;
}

#endif
