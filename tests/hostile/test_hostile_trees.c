/* Thousands of tree ensembles from chance, most of them sound, some spoiled: nothing crashes,
 * refusals speak, and every method gives the bits of the plain walk. */
#include "chance.h"
#include "tree_trial.h"

#include <check.h>
#include <stdlib.h>

enum { CASES = 4000, BYTES = 1200 };

START_TEST(ensembles_from_chance) {
    struct chance chance = {20};
    int accepted = 0;
    for (int i = 0; i < CASES; i++) {
        uint8_t bytes[BYTES];
        for (int k = 0; k < BYTES; k++)
            bytes[k] = (uint8_t)chance_next(&chance);
        accepted += tree_trial(bytes, sizeof bytes);
    }
    ck_assert_int_gt(accepted, CASES / 3);
    ck_assert_int_lt(accepted, CASES);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("hostile trees");
    TCase *tests = tcase_create("hostile trees");
    tcase_set_timeout(tests, 250);
    tcase_add_test(tests, ensembles_from_chance);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
