/* The base room: checked sizes, arena, map, text, diagnoses. */
#include "unit.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/diag.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/base/text.h"

#include <string.h>

START_TEST(tensor_bytes_of_packed_types_round_up) {
    uint64_t size = 0;
    ck_assert(tn_tensor_bytes(TN_INT4, (int64_t[]){3}, 1, &size));
    ck_assert_uint_eq(size, 2);
    ck_assert(tn_tensor_bytes(TN_UINT2, (int64_t[]){5}, 1, &size));
    ck_assert_uint_eq(size, 2);
    ck_assert(tn_tensor_bytes(TN_COMPLEX128, NULL, 0, &size));
    ck_assert_uint_eq(size, 16);
    ck_assert(tn_tensor_bytes(TN_FLOAT, (int64_t[]){4, 0, 7}, 3, &size));
    ck_assert_uint_eq(size, 0);
}
END_TEST

START_TEST(tensor_bytes_that_overflow_are_refused) {
    uint64_t size = 0;
    ck_assert(!tn_tensor_bytes(TN_FLOAT, (int64_t[]){INT64_MAX, 2}, 2, &size));
    ck_assert(!tn_tensor_bytes(TN_FLOAT, (int64_t[]){INT64_MAX / 2, 2}, 2, &size));
    ck_assert(!tn_tensor_bytes(TN_FLOAT, (int64_t[]){-1}, 1, &size));
    ck_assert(!tn_tensor_bytes(99, (int64_t[]){1}, 1, &size));
}
END_TEST

START_TEST(alloc_aligns_and_frees_small_and_huge) {
    static const uint64_t sizes[] = {0, 1, 100, 4096, 3 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = tn__alloc_zero(sizes[i], 0);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % 64, 0);
        for (uint64_t k = 0; k < sizes[i]; k += 997)
            ck_assert_int_eq(p[k], 0);
        memset(p, 1, sizes[i]);
        tn__free(p);
    }
    ck_assert_ptr_null(tn__alloc(UINT64_MAX - 10, 0));
}
END_TEST

START_TEST(alloc_fails_when_asked_to) {
    tn__alloc_fail_at(2);
    void *first = tn__alloc(8, 0), *second = tn__alloc(8, 0), *third = tn__alloc(8, 0);
    tn__alloc_fail_at(0);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(third);
    tn__free(first);
    tn__free(third);
}
END_TEST

START_TEST(arena_gives_zeroed_separate_blocks) {
    struct tn_arena *arena = tn__arena_create();
    char *a = tn__arena_alloc(arena, 10), *b = tn__arena_alloc(arena, 100000);
    memset(a, 7, 10);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(b[i], 0);
    ck_assert_ptr_null(tn__arena_array(arena, UINT64_MAX / 2, 16));
    ck_assert_str_eq(tn__arena_format(arena, "%s-%d", "x", 42), "x-42");
    tn__arena_destroy(arena);
}
END_TEST

START_TEST(map_keeps_ten_thousand_keys_through_removals) {
    struct tn_str_map map = {0};
    static char keys[10000][8];
    for (uint32_t i = 0; i < 10000; i++) {
        snprintf(keys[i], sizeof keys[i], "k%u", i);
        ck_assert(tn__map_put(&map, keys[i], i));
    }
    for (uint32_t i = 0; i < 10000; i += 3)
        tn__map_remove(&map, keys[i]);
    for (uint32_t i = 0; i < 10000; i++)
        ck_assert_uint_eq(tn__map_get(&map, keys[i]), i % 3 ? i : UINT32_MAX);
    tn__map_remove(&map, "absent");
    tn__map_clear(&map);
    ck_assert_uint_eq(tn__map_get(&map, "k1"), UINT32_MAX);
}
END_TEST

START_TEST(text_json_escapes_and_repairs) {
    struct tn_text text = {0};
    tn__text_json(&text, "a\"b\\\n\xff\xc3\xa9");
    ck_assert_str_eq(text.data, "\"a\\\"b\\\\\\u000a\\ufffd\xc3\xa9\"");
    tn__text_free(&text);
}
END_TEST

START_TEST(diag_keeps_the_first_cause) {
    struct tn_diag diag = {0};
    ck_assert_int_eq(tn_fail(&diag, TN_IO, "first %d", 1), TN_IO);
    ck_assert_int_eq(tn_fail(&diag, TN_INTERNAL, "second"), TN_INTERNAL);
    ck_assert_int_eq(diag.code, TN_IO);
    ck_assert_str_eq(diag.message, "first 1");
    ck_assert_int_eq(tn_fail(NULL, TN_IO, "nobody listens"), TN_IO);
}
END_TEST

START_TEST(diag_names_are_cut_at_a_character) {
    struct tn_diag diag = {0};
    char name[200];
    memset(name, 'x', sizeof name);
    memcpy(name + TN_DIAG_NAME_SIZE - 2, "\xc3\xa9", 2);
    name[150] = '\0';
    tn__diag_name(&diag, diag.node, name);
    ck_assert_uint_eq(strlen(diag.node), TN_DIAG_NAME_SIZE - 2);
    tn__diag_name(&diag, diag.node, "other");
    ck_assert_int_eq(diag.node[0], 'x');
}
END_TEST

/* The examples of FIPS 180-4, and one that is fed in pieces over block borders. */
START_TEST(sha256_gives_the_published_digests) {
    static const struct {
        const char *text;
        uint8_t first[4];
    } rows[] = {{"", {0xe3, 0xb0, 0xc4, 0x42}}, {"abc", {0xba, 0x78, 0x16, 0xbf}},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            {0x24, 0x8d, 0x6a, 0x61}}};
    uint8_t digest[32], whole[32];
    struct tn_sha256 sha;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn__sha256_begin(&sha);
        tn__sha256_add(&sha, rows[i].text, strlen(rows[i].text));
        tn__sha256_end(&sha, digest);
        ck_assert_mem_eq(digest, rows[i].first, 4);
    }
    char data[300];
    memset(data, 'x', sizeof data);
    tn__sha256_begin(&sha);
    tn__sha256_add(&sha, data, sizeof data);
    tn__sha256_end(&sha, whole);
    for (unsigned piece = 1; piece < 130; piece += 7) {
        tn__sha256_begin(&sha);
        for (unsigned at = 0; at < sizeof data; at += piece)
            tn__sha256_add(
                &sha, data + at, sizeof data - at < piece ? sizeof data - at : piece);
        tn__sha256_end(&sha, digest);
        ck_assert_mem_eq(digest, whole, 32);
    }
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, sha256_gives_the_published_digests);
    tcase_add_test(tests, tensor_bytes_of_packed_types_round_up);
    tcase_add_test(tests, tensor_bytes_that_overflow_are_refused);
    tcase_add_test(tests, alloc_aligns_and_frees_small_and_huge);
    tcase_add_test(tests, alloc_fails_when_asked_to);
    tcase_add_test(tests, arena_gives_zeroed_separate_blocks);
    tcase_add_test(tests, map_keeps_ten_thousand_keys_through_removals);
    tcase_add_test(tests, text_json_escapes_and_repairs);
    tcase_add_test(tests, diag_keeps_the_first_cause);
    tcase_add_test(tests, diag_names_are_cut_at_a_character);
}

UNIT_MAIN("base")
