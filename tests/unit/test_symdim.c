/* Symbolic dimensions: equal expressions are one symbol, and an expression means what
 * integers mean. */
#include "core/graph/graph.h"
#include "tenon/op.h"

#include "unit.h"

static struct tn_arena *arena;
static struct tn__symbols *s;
static int64_t n, h, w;

static void set_up(void) {
    arena = tn__arena_create();
    s = tn__symbols_create(arena);
    n = tn__symbol_named(s, "N");
    h = tn__symbol_named(s, "H");
    w = tn__symbol_named(s, "W");
}

static void tear_down(void) {
    tn__symbols_destroy(s);
    tn__arena_destroy(arena);
}

#define OP(name) static int64_t name(int64_t a, int64_t b)
OP(add) {
    return tn__symbol_op(s, TN_DIM_ADD, a, b);
}
OP(sub) {
    return tn__symbol_op(s, TN_DIM_SUB, a, b);
}
OP(mul) {
    return tn__symbol_op(s, TN_DIM_MUL, a, b);
}
OP(quo) {
    return tn__symbol_op(s, TN_DIM_DIV, a, b);
}
OP(up) {
    return tn__symbol_op(s, TN_DIM_CEIL_DIV, a, b);
}
OP(least) {
    return tn__symbol_op(s, TN_DIM_MIN, a, b);
}
OP(most) {
    return tn__symbol_op(s, TN_DIM_MAX, a, b);
}
OP(mod) {
    return tn__symbol_op(s, TN_DIM_MOD, a, b);
}

START_TEST(names_are_symbols_once) {
    ck_assert_int_eq(tn__symbol_named(s, "N"), n);
    ck_assert_int_ne(n, h);
    ck_assert(n <= TN_DIM_SYMBOL_MAX && n != TN_DIM_UNKNOWN);
    ck_assert_int_ne(tn__symbol_fresh(s), tn__symbol_fresh(s));
    ck_assert_int_eq(tn__symbol_find(s, "H"), h);
    ck_assert_int_eq(tn__symbol_find(s, "absent"), TN_DIM_UNKNOWN);
}
END_TEST

START_TEST(numbers_are_computed) {
    ck_assert_int_eq(add(2, 3), 5);
    ck_assert_int_eq(sub(2, 3), -1);
    ck_assert_int_eq(quo(7, 2), 3);
    ck_assert_int_eq(quo(-7, 2), -4);
    ck_assert_int_eq(up(7, 2), 4);
    ck_assert_int_eq(up(-7, 2), -3);
    ck_assert_int_eq(up(7, -2), -3);
    ck_assert_int_eq(mod(-7, 3), 2);
    ck_assert_int_eq(mod(7, -3), -2);
    ck_assert_int_eq(least(4, -2), -2);
    ck_assert_int_eq(most(4, -2), 4);
}
END_TEST

START_TEST(overflow_and_division_by_zero_are_unknown) {
    ck_assert_int_eq(mul(INT64_MAX, 2), TN_DIM_UNKNOWN);
    ck_assert_int_eq(mul(INT64_MAX / 2, -2), TN_DIM_UNKNOWN);
    ck_assert_int_eq(quo(4, 0), TN_DIM_UNKNOWN);
    ck_assert_int_eq(quo(n, 0), TN_DIM_UNKNOWN);
    ck_assert_int_eq(mod(n, 0), TN_DIM_UNKNOWN);
    ck_assert_int_eq(add(n, TN_DIM_UNKNOWN), TN_DIM_UNKNOWN);
    ck_assert_int_eq(add(n, TN_DIM_SYMBOL_MAX - 1000), TN_DIM_UNKNOWN);
    ck_assert_int_eq(tn__symbol_op(s, 99, n, h), TN_DIM_UNKNOWN);
}
END_TEST

START_TEST(equal_sums_and_products_are_one_symbol) {
    ck_assert_int_eq(add(add(n, 2), 3), add(5, n));
    ck_assert_int_eq(sub(add(n, h), h), n);
    ck_assert_int_eq(sub(n, n), 0);
    ck_assert_int_eq(mul(n, h), mul(h, n));
    ck_assert_int_eq(
        mul(add(n, 1), add(h, 2)), add(add(mul(n, h), add(n, n)), add(h, 2)));
    ck_assert_int_eq(mul(n, 0), 0);
    ck_assert_int_eq(mul(n, 1), n);
}
END_TEST

START_TEST(quotients_simplify) {
    ck_assert_int_eq(quo(mul(n, 4), 4), n);
    ck_assert_int_eq(quo(mul(mul(n, h), 4), mul(n, 2)), mul(h, 2));
    ck_assert_int_eq(quo(mul(add(n, 1), h), add(n, 1)), h);
    ck_assert_int_eq(quo(mul(add(n, 1), 6), add(n, 1)), 6);
    ck_assert_int_eq(quo(add(mul(n, 2), 5), 2), add(n, 2));
    ck_assert_int_eq(quo(mul(n, 4), 8), quo(n, 2));
    ck_assert_int_eq(up(n, 2), quo(add(n, 1), 2));
    ck_assert_int_eq(quo(quo(n, 2), 2), quo(n, 4));
    ck_assert_int_eq(quo(add(quo(n, 2), 1), 2), quo(add(n, 2), 4));
    ck_assert_int_eq(mod(mul(n, 6), 3), 0);
    ck_assert_int_eq(mod(add(mul(n, 6), 4), 3), 1);
    /* a convolution of stride 1 that keeps the size: (H + 2 - 3) / 1 + 1 */
    ck_assert_int_eq(add(quo(sub(add(h, 2), 3), 1), 1), h);
}
END_TEST

START_TEST(minimum_and_maximum_know_that_sizes_are_not_negative) {
    ck_assert_int_eq(most(n, 0), n);
    ck_assert_int_eq(least(n, 0), 0);
    ck_assert_int_eq(least(n, add(n, 3)), n);
    ck_assert_int_eq(most(add(n, h), n), add(n, h));
    ck_assert_int_eq(least(n, INT64_MAX), n);
    ck_assert_int_eq(least(n, h), least(h, n));
    ck_assert_int_ne(least(n, h), most(n, h));
    ck_assert_int_eq(most(n, n), n);
}
END_TEST

START_TEST(text_reads_like_arithmetic) {
    ck_assert_str_eq(tn__symbol_text(s, n), "N");
    ck_assert_str_eq(tn__symbol_text(s, add(n, 5)), "N + 5");
    ck_assert_str_eq(tn__symbol_text(s, sub(mul(mul(n, h), 2), 1)), "2*N*H - 1");
    ck_assert_str_eq(tn__symbol_text(s, quo(add(n, 1), 2)), "floor((N + 1)/2)");
    ck_assert_str_eq(tn__symbol_text(s, least(n, 8)), "min(N, 8)");
    ck_assert_str_eq(tn__symbol_text(s, 7), "7");
    int64_t nameless = tn__symbol_fresh(s);
    ck_assert_ptr_null(tn__symbol_text(s, nameless));
    ck_assert_ptr_null(tn__symbol_text(s, add(nameless, 1)));
}
END_TEST

START_TEST(bound_sizes_resolve_expressions) {
    int64_t e = add(quo(add(mul(n, h), 1), 2), least(w, n));
    ck_assert_int_eq(tn__symbol_resolve(s, e), e);
    ck_assert(tn__symbol_bind(s, n, 3));
    ck_assert_int_eq(tn__symbol_resolve(s, n), 3);
    ck_assert(tn__symbol_bind(s, n, 3));
    ck_assert(!tn__symbol_bind(s, n, 4));
    ck_assert_int_eq(tn__symbol_resolve(s, mul(n, h)), mul(3, h));
    ck_assert(tn__symbol_bind(s, h, 5));
    ck_assert(tn__symbol_bind(s, w, 2));
    ck_assert_int_eq(tn__symbol_resolve(s, e), (3 * 5 + 1) / 2 + 2);
    ck_assert(!tn__symbol_bind(s, TN_DIM_UNKNOWN, 1));
    ck_assert(!tn__symbol_bind(s, tn__symbol_fresh(s), -1));
}
END_TEST

START_TEST(expressions_that_grow_without_end_become_unknown) {
    int64_t e = n;
    for (int i = 0; i < 1000 && e != TN_DIM_UNKNOWN; i++)
        e = most(quo(mul(e, 3), 2), h);
    ck_assert_int_eq(e, TN_DIM_UNKNOWN);
    e = 0;
    for (int i = 0; i < 40 && e != TN_DIM_UNKNOWN; i++)
        e = add(e, tn__symbol_fresh(s));
    ck_assert_int_eq(e, TN_DIM_UNKNOWN);
}
END_TEST

/* The same operations on plain integers, floor division as mathematics has it. */
static int64_t plain(uint32_t op, int64_t a, int64_t b) {
    int64_t q = b ? a / b - (a % b && (a < 0) != (b < 0)) : 0;
    int64_t values[] = {a + b, a - b, a * b, q, b ? q + (a % b != 0) : 0, a < b ? a : b,
        a > b ? a : b, a - q * b};
    return values[op];
}

START_TEST(random_expressions_equal_integer_arithmetic) {
    enum { STEPS = 14, ROUNDS = 4000 };
    uint32_t seed = 12345;
    for (int round = 0; round < ROUNDS; round++) {
        tear_down();
        set_up();
        int64_t dims[STEPS + 6] = {n, h, w, 2, 3, 1}, values[STEPS + 6];
        for (int i = 0; i < 6; i++) {
            seed = seed * 1664525u + 1013904223u;
            values[i] = i < 3 ? 1 + (seed >> 16) % 9 : dims[i];
        }
        int count = 6;
        for (int i = 0; i < STEPS; i++) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t op = (seed >> 24) % 8, x = (seed >> 16) % (uint32_t)count;
            uint32_t y = (seed >> 8) % (uint32_t)count;
            bool divides = op == TN_DIM_DIV || op == TN_DIM_CEIL_DIV || op == TN_DIM_MOD;
            int64_t value = plain(op, values[x], values[y]);
            if ((divides && values[y] == 0) || value > 1000000 || value < -1000000)
                continue;
            int64_t dim = tn__symbol_op(s, op, dims[x], dims[y]);
            if (dim == TN_DIM_UNKNOWN) continue;
            dims[count] = dim;
            values[count++] = value;
        }
        for (int i = 0; i < 3; i++)
            ck_assert(tn__symbol_bind(s, dims[i], values[i]));
        for (int i = 3; i < count; i++)
            ck_assert_int_eq(tn__symbol_resolve(s, dims[i]), values[i]);
    }
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, names_are_symbols_once);
    tcase_add_test(tests, numbers_are_computed);
    tcase_add_test(tests, overflow_and_division_by_zero_are_unknown);
    tcase_add_test(tests, equal_sums_and_products_are_one_symbol);
    tcase_add_test(tests, quotients_simplify);
    tcase_add_test(tests, minimum_and_maximum_know_that_sizes_are_not_negative);
    tcase_add_test(tests, text_reads_like_arithmetic);
    tcase_add_test(tests, bound_sizes_resolve_expressions);
    tcase_add_test(tests, expressions_that_grow_without_end_become_unknown);
    tcase_add_test(tests, random_expressions_equal_integer_arithmetic);
}

UNIT_MAIN("symdim")
