/* The plan room: offsets in one arena, and packed weights shared by content. */
#include "unit.h"

#include "core/base/alloc.h"
#include "core/plan/plan.h"

static struct tn_diag diag;
static uint64_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static bool collide(const struct tn__extent *a, const struct tn__extent *b) {
    return a->first <= b->last && b->first <= a->last &&
           a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

START_TEST(blocks_alive_together_never_overlap) {
    static struct tn__extent extents[600];
    for (int round = 0; round < 30; round++) {
        uint32_t n = 1 + draw(600);
        uint64_t total = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = draw(100);
            extents[i] =
                (struct tn__extent){draw(4) ? draw(5000) : 0, first, first + draw(20), 0};
        }
        assert_ok(tn__memory_place(extents, n, &total, &diag), diag);
        for (uint32_t i = 0; i < n; i++) {
            ck_assert_uint_eq(extents[i].offset % 64, 0);
            ck_assert_uint_le(extents[i].offset + extents[i].size, total);
            for (uint32_t k = 0; k < i; k++)
                ck_assert(!collide(&extents[i], &extents[k]));
        }
    }
}
END_TEST

START_TEST(a_chain_needs_two_blocks) {
    struct tn__extent extents[50];
    uint64_t total;
    for (uint32_t i = 0; i < 50; i++)
        extents[i] = (struct tn__extent){1000, i, i + 1, 0};
    assert_ok(tn__memory_place(extents, 50, &total, &diag), diag);
    ck_assert_uint_eq(total, 2 * 1024);
}
END_TEST

START_TEST(very_many_blocks_are_placed_too) {
    enum { MANY = 20000 };
    struct tn__extent *extents = tn__alloc(MANY * sizeof *extents, 0);
    uint64_t total;
    for (uint32_t i = 0; i < MANY; i++)
        extents[i] = (struct tn__extent){64 + draw(500), i, i + draw(5), 0};
    assert_ok(tn__memory_place(extents, MANY, &total, &diag), diag);
    for (uint32_t i = 0; i < MANY; i++) {
        for (uint32_t k = i + 1; k < MANY && k < i + 8; k++)
            ck_assert(!collide(&extents[i], &extents[k]));
    }
    ck_assert_uint_lt(total, 64 * 1024);
    tn__free(extents);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused) {
    struct tn__extent extents[3] = {
        {INT64_MAX / 2, 0, 1, 0}, {INT64_MAX / 2, 0, 1, 0}, {INT64_MAX / 2, 0, 1, 0}};
    uint64_t total;
    assert_fails(
        tn__memory_place(extents, 3, &total, &diag), diag, TN_LIMIT_EXCEEDED, "2^63");
    struct tn__extent huge = {UINT64_MAX - 3, 0, 0, 0};
    assert_fails(
        tn__memory_place(&huge, 1, &total, &diag), diag, TN_LIMIT_EXCEEDED, "2^63");
}
END_TEST

/* ---- weights -------------------------------------------------------------------------- */

enum { WORDS = 5000 };
static float content[3][WORDS];
static int64_t dims[] = {WORDS};
static struct tn_tensor tensors[3];
static struct tn__weights *weights;

static void set_up_weights(void) {
    seed = 1;
    weights = tn__weights_create();
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < WORDS; i++)
            content[t][i] = (float)i;
        tensors[t] = (struct tn_tensor){.data = content[t],
            .dims = dims,
            .size = sizeof content[t],
            .dtype = TN_FLOAT,
            .rank = 1};
    }
    content[2][777] = -1; /* between the samples */
}

static void tear_down_weights(void) {
    tn__weights_destroy(weights);
}

static void *get(
    int t, const char *layout, uint64_t size, struct tn__weight_ref **list, int filled) {
    void *buffer = NULL;
    int32_t found = -1;
    assert_ok(tn__weights_get(weights, &tensors[t], "org.test", layout, size, true, list,
                  &buffer, &found, &diag),
        diag);
    ck_assert_int_eq(found, filled);
    ck_assert_uint_eq((uintptr_t)buffer % 64, 0);
    return buffer;
}

START_TEST(equal_content_is_packed_once) {
    struct tn__weight_ref *a = NULL, *b = NULL, *c = NULL;
    void *first = get(0, "tile", 4096, &a, 0);
    tn__weights_ready(a, NULL);
    ck_assert_ptr_eq(get(1, "tile", 4096, &b, 1), first);
    ck_assert_ptr_ne(get(2, "tile", 4096, &c, 0), first);
    ck_assert_uint_eq(tn__weights_bytes(weights), 2 * 4096);
    tn__weights_release(&a, NULL);
    ck_assert_ptr_null(a);
    /* the second holder's original decides once the first is gone */
    ck_assert_ptr_eq(get(0, "tile", 4096, &a, 1), first);
    tn__weights_release(&a, NULL);
    tn__weights_release(&b, NULL);
    tn__weights_release(&c, NULL);
    ck_assert_uint_eq(tn__weights_bytes(weights), 0);
}
END_TEST

START_TEST(another_layout_or_size_is_another_buffer) {
    struct tn__weight_ref *a = NULL;
    void *first = get(0, "tile", 4096, &a, 0);
    tn__weights_ready(a, NULL);
    ck_assert_ptr_ne(get(0, "tile2", 4096, &a, 0), first);
    ck_assert_ptr_ne(get(0, "tile", 8192, &a, 0), first);
    ck_assert_uint_eq(tn__weights_list_bytes(a), 16384);
    tn__weights_release(&a, NULL);
}
END_TEST

START_TEST(a_buffer_that_is_being_filled_is_not_shared) {
    struct tn__weight_ref *a = NULL, *b = NULL;
    void *first = get(0, "tile", 4096, &a, 0);
    ck_assert_ptr_ne(get(1, "tile", 4096, &b, 0), first);
    tn__weights_release(&a, NULL);
    tn__weights_release(&b, NULL);
}
END_TEST

START_TEST(no_memory_leaves_nothing_behind) {
    struct tn__weight_ref *a = NULL;
    void *buffer;
    int32_t filled;
    for (uint64_t n = 1; n <= 3; n++) {
        tn__alloc_fail_at(n);
        assert_fails(tn__weights_get(weights, &tensors[0], "org.test", "tile", 4096, true,
                         &a, &buffer, &filled, &diag),
            diag, TN_OUT_OF_MEMORY, "packed weights");
        tn__alloc_fail_at(0);
        ck_assert_ptr_null(a);
        ck_assert_uint_eq(tn__weights_bytes(weights), 0);
    }
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up_weights, tear_down_weights);
    tcase_add_test(tests, blocks_alive_together_never_overlap);
    tcase_add_test(tests, a_chain_needs_two_blocks);
    tcase_add_test(tests, very_many_blocks_are_placed_too);
    tcase_add_test(tests, sizes_that_overflow_are_refused);
    tcase_add_test(tests, equal_content_is_packed_once);
    tcase_add_test(tests, another_layout_or_size_is_another_buffer);
    tcase_add_test(tests, a_buffer_that_is_being_filled_is_not_shared);
    tcase_add_test(tests, no_memory_leaves_nothing_behind);
}

UNIT_MAIN("plan")
