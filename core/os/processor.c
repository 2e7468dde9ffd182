/* Processor features and caches: see processor.h. */
#include "core/os/processor.h"

#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* ---- features ------------------------------------------------------------------------
 */

#if defined(__x86_64__)

/* Register states that the system saves: bit 1 SSE, 2 AVX, 5..7 AVX-512. */
enum { XCR0_AVX = 0x06, XCR0_AVX512 = 0xe6 };

static uint64_t read_xcr0(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_bits(uint64_t value, uint64_t bits) {
    return (value & bits) == bits;
}

static uint64_t detect_features(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const uint32_t osxsave = 1u << 27, avx = 1u << 28, fma = 1u << 12, f16c = 1u << 29;
    if (!has_bits(c, osxsave | avx | fma | f16c)) return 0;
    uint64_t xcr0 = read_xcr0();
    if (!has_bits(xcr0, XCR0_AVX)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    const uint32_t avx2 = 1u << 5, bmi2 = 1u << 8;
    if (!has_bits(b, avx2 | bmi2)) return 0;
    uint64_t features = TN_CPU_AVX2;
    uint32_t b7 = b, c7 = c, leaves = a, a71 = 0;
    if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) a71 = a;
    if (a71 & (1u << 4)) features |= TN_CPU_AVX_VNNI;
    const uint32_t f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
    if (!has_bits(b7, f | dq | bw | vl) || !has_bits(xcr0, XCR0_AVX512)) return features;
    features |= TN_CPU_AVX512;
    if (c7 & (1u << 11)) features |= TN_CPU_AVX512_VNNI;
    if (a71 & (1u << 5)) features |= TN_CPU_AVX512_BF16;
    return features;
}

#elif defined(__aarch64__)

static uint64_t detect_features(void) {
    /* bits of AT_HWCAP and AT_HWCAP2 in the kernel's own numbering */
    unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
    uint64_t features = 0;
    if (hwcap & (1ul << 1)) features |= TN_CPU_NEON;
    if (hwcap & (1ul << 20)) features |= TN_CPU_DOTPROD;
    if ((hwcap & (1ul << 9)) && (hwcap & (1ul << 10))) features |= TN_CPU_FP16;
    if (hwcap2 & (1ul << 13)) features |= TN_CPU_I8MM;
    if (hwcap2 & (1ul << 14)) features |= TN_CPU_BF16;
    return features;
}

#else

static uint64_t detect_features(void) {
    return 0;
}

#endif

static uint64_t cache_size(int name) {
    long size = sysconf(name);
    return size > 0 ? (uint64_t)size : 0;
}

void tn__cpu_detect(struct tn__cpu *out) {
    out->features = detect_features();
    out->cache_l1d = cache_size(_SC_LEVEL1_DCACHE_SIZE);
    out->cache_l2 = cache_size(_SC_LEVEL2_CACHE_SIZE);
    out->cache_l3 = cache_size(_SC_LEVEL3_CACHE_SIZE);
}

/* ---- names ---------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    uint64_t bit, allows;
} feature_names[] = {
    {"avx2", TN_CPU_AVX2, TN_CPU_AVX2},
    {"avx_vnni", TN_CPU_AVX_VNNI, TN_CPU_AVX2 | TN_CPU_AVX_VNNI},
    {"avx512", TN_CPU_AVX512, TN_CPU_AVX2 | TN_CPU_AVX512},
    {"avx512_vnni", TN_CPU_AVX512_VNNI, TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX512_VNNI},
    {"avx512_bf16", TN_CPU_AVX512_BF16, TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX512_BF16},
    {"neon", TN_CPU_NEON, TN_CPU_NEON},
    {"dotprod", TN_CPU_DOTPROD, TN_CPU_NEON | TN_CPU_DOTPROD},
    {"fp16", TN_CPU_FP16, TN_CPU_NEON | TN_CPU_FP16},
    {"i8mm", TN_CPU_I8MM, TN_CPU_NEON | TN_CPU_DOTPROD | TN_CPU_I8MM},
    {"bf16", TN_CPU_BF16, TN_CPU_NEON | TN_CPU_BF16},
    {"avx512vnni", 0,
        TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX_VNNI | TN_CPU_AVX512_VNNI |
            TN_CPU_AVX512_BF16},
    {"scalar", 0, 0},
    {"best", 0, UINT64_MAX},
    {"all", 0, UINT64_MAX},
};
enum { FEATURE_NAMES = sizeof feature_names / sizeof feature_names[0] };

static bool name_is(const char *text, size_t n, const char *name) {
    return strlen(name) == n && memcmp(text, name, n) == 0;
}

tn_status tn__cpu_mask(const char *text, uint64_t *out_mask, struct tn_diag *diag) {
    uint64_t mask = text[0] == '\0' ? UINT64_MAX : 0;
    for (const char *p = text; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", "), i = 0;
        if (n == 0) break;
        while (i < FEATURE_NAMES && !name_is(p, n, feature_names[i].name))
            i++;
        if (i == FEATURE_NAMES)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "'%.*s' is not a processor feature; use all, scalar, avx2, avx_vnni, "
                "avx512, avx512_vnni, avx512_bf16, neon, dotprod, fp16, i8mm or bf16",
                (int)(n < 64 ? n : 64), p);
        mask |= feature_names[i].allows;
        p += n;
    }
    *out_mask = mask;
    return TN_OK;
}

const char *tn__cpu_names(uint64_t features, char *buf, size_t size) {
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < FEATURE_NAMES; i++) {
        if (!(features & feature_names[i].bit)) continue;
        int n = snprintf(
            buf + used, size - used, "%s%s", used ? " " : "", feature_names[i].name);
        if (n < 0 || (size_t)n >= size - used) {
            buf[used] = '\0'; /* no half name */
            break;
        }
        used += (size_t)n;
    }
    if (used == 0) snprintf(buf, size, "scalar");
    return buf;
}
