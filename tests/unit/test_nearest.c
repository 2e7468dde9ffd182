/* The name that was probably meant. */
#include "core/base/nearest.h"

#include "unit.h"

static const char *nearest(const char *wanted) {
    static const char *const names[] = {"threads", "provider", "log.level", "Sum"};
    struct tn__nearest n = tn__nearest_start(wanted);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tn__nearest_offer(&n, names[i]);
    return tn__nearest_get(&n);
}

START_TEST(a_slip_of_the_pen_is_found) {
    ck_assert_str_eq(nearest("thread"), "threads");
    ck_assert_str_eq(nearest("porvider"), "provider");
    ck_assert_str_eq(nearest("Log.Level"), "log.level");
    ck_assert_str_eq(nearest("sum"), "Sum");
}
END_TEST

START_TEST(what_is_far_from_all_is_left_alone) {
    ck_assert_ptr_null(nearest("elephant"));
    ck_assert_ptr_null(nearest(""));
    char huge[1000];
    memset(huge, 't', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    ck_assert_ptr_null(nearest(huge));
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, a_slip_of_the_pen_is_found);
    tcase_add_test(tests, what_is_far_from_all_is_left_alone);
}

UNIT_MAIN("nearest")
