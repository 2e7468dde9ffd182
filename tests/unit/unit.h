/* What every unit test program shares: a main that runs one Check case, and assertions on
 * a diagnosis. Each test file defines `static void add_tests(TCase *tests)` and ends with
 * UNIT_MAIN("name"). */
#ifndef TENON_UNIT_H
#define TENON_UNIT_H

#include "tenon/status.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The call fails with this code and its sentence has this part. */
#define assert_fails(call, diag, wanted, part)                                           \
    do {                                                                                 \
        memset(&(diag), 0, sizeof(diag));                                                \
        tn_status status_ = (call);                                                      \
        ck_assert_msg(status_ == (wanted), "code %d instead of %d: %s", status_, wanted, \
            (diag).message);                                                             \
        ck_assert_msg(                                                                   \
            strstr((diag).message, part), "no '%s' in: %s", part, (diag).message);       \
    } while (0)

#define assert_ok(call, diag)                                                            \
    do {                                                                                 \
        memset(&(diag), 0, sizeof(diag));                                                \
        tn_status status_ = (call);                                                      \
        ck_assert_msg(status_ == TN_OK, "code %d: %s", status_, (diag).message);         \
    } while (0)

#define UNIT_MAIN(name)                                                                  \
    int main(void) {                                                                     \
        Suite *suite = suite_create(name);                                               \
        TCase *tests = tcase_create(name);                                               \
        tcase_set_timeout(tests, 60);                                                    \
        add_tests(tests);                                                                \
        suite_add_tcase(suite, tests);                                                   \
        SRunner *runner = srunner_create(suite);                                         \
        srunner_run_all(runner, CK_NORMAL);                                              \
        int failed = srunner_ntests_failed(runner);                                      \
        srunner_free(runner);                                                            \
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                     \
    }

#endif
