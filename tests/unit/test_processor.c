/* Processor features by name, and thread counts from control groups. */
#include "core/os/processor.h"

#include "unit.h"

#include <stdbool.h>
#include <stdio.h>

static struct tn_diag diag;
static char root[64];

START_TEST(masks_bring_what_they_stand_on) {
    static const struct {
        const char *text;
        uint64_t mask;
    } rows[] = {
        {"", UINT64_MAX},
        {"all", UINT64_MAX},
        {"best", UINT64_MAX},
        {"avx512vnni", TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX_VNNI |
                           TN_CPU_AVX512_VNNI | TN_CPU_AVX512_BF16},
        {"scalar", 0},
        {"avx2", TN_CPU_AVX2},
        {"avx512", TN_CPU_AVX2 | TN_CPU_AVX512},
        {"avx_vnni, avx512", TN_CPU_AVX2 | TN_CPU_AVX512 | TN_CPU_AVX_VNNI},
        {"i8mm", TN_CPU_NEON | TN_CPU_DOTPROD | TN_CPU_I8MM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t mask = 1;
        assert_ok(tn__cpu_mask(rows[i].text, &mask, &diag), diag);
        ck_assert_uint_eq(mask, rows[i].mask);
    }
    uint64_t mask;
    assert_fails(tn__cpu_mask("avx2,sse9", &mask, &diag), diag, TN_INVALID_ARGUMENT,
        "'sse9' is not a processor feature");
}
END_TEST

START_TEST(detection_agrees_with_the_compiler) {
    struct tn__cpu cpu;
    tn__cpu_detect(&cpu);
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");
    bool avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    ck_assert_int_eq((cpu.features & TN_CPU_AVX2) != 0, avx2);
    ck_assert_int_eq((cpu.features & TN_CPU_AVX512) != 0, avx512);
    ck_assert_int_eq((cpu.features & TN_CPU_AVX512_VNNI) != 0,
        avx512 && __builtin_cpu_supports("avx512vnni"));
    ck_assert_int_eq((cpu.features & TN_CPU_NEON) != 0, 0);
#endif
    char buf[128];
    ck_assert_str_eq(tn__cpu_names(0, buf, sizeof buf), "scalar");
    ck_assert_str_eq(
        tn__cpu_names(TN_CPU_AVX2 | TN_CPU_AVX512, buf, sizeof buf), "avx2 avx512");
    ck_assert_str_eq(tn__cpu_names(TN_CPU_AVX2 | TN_CPU_AVX512, buf, 6), "avx2");
    ck_assert_uint_ge(tn__cpu_threads(), 1);
}
END_TEST

static void put(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "mkdir -p '%s%s'", root, folder);
    ck_assert_int_eq(system(path), 0);
    snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void make_root(void) {
    strcpy(root, "/tmp/tenon-cpu-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(version_2_takes_the_least_of_the_groups_above) {
    put("/a/b", "cpu.max", "max 100000\n");
    ck_assert_uint_eq(tn__cgroup_quota("0::/a/b\n", root), UINT32_MAX);
    put("/a", "cpu.max", "250000 100000\n");
    ck_assert_uint_eq(tn__cgroup_quota("0::/a/b\n", root), 3);
    put("", "cpu.max", "10000 100000\n");
    ck_assert_uint_eq(tn__cgroup_quota("0::/a/b\n", root), 1);
    ck_assert_uint_eq(tn__cgroup_quota("0::/not/there\n", root), 1);
}
END_TEST

START_TEST(version_1_reads_the_cpu_controller) {
    put("/cpu,cpuacct/g", "cpu.cfs_quota_us", "150000\n");
    put("/cpu,cpuacct/g", "cpu.cfs_period_us", "100000\n");
    put("/memory/g", "cpu.cfs_quota_us", "1\n");
    ck_assert_uint_eq(
        tn__cgroup_quota("5:memory:/g\n4:cpu,cpuacct:/g\n1:name=systemd:/\n", root), 2);
    put("/cpu,cpuacct/g", "cpu.cfs_quota_us", "-1\n");
    ck_assert_uint_eq(tn__cgroup_quota("4:cpu,cpuacct:/g", root), UINT32_MAX);
}
END_TEST

START_TEST(malformed_memberships_mean_no_quota) {
    static const char *const texts[] = {
        "", "\n\n", "0", "0:", "0::", "0::x", ":::", "4:cpu"};
    put("", "cpu.max", "garbage");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_uint_eq(tn__cgroup_quota(texts[i], root), UINT32_MAX);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, make_root, remove_root);
    tcase_add_test(tests, masks_bring_what_they_stand_on);
    tcase_add_test(tests, detection_agrees_with_the_compiler);
    tcase_add_test(tests, version_2_takes_the_least_of_the_groups_above);
    tcase_add_test(tests, version_1_reads_the_cpu_controller);
    tcase_add_test(tests, malformed_memberships_mean_no_quota);
}

UNIT_MAIN("processor")
