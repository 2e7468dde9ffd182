/* Sessions and contexts end to end: static shapes, dynamic ones, control flow. */
#include "run_fixture.h"

START_TEST(a_chain_gives_what_its_operators_say) {
    open_session(FAKE_HEADER "g (float[N] x) => (float[N] y) {"
                             " a = fake.Gain <k: float = 2.0> (x) b = fake.Plus(a, x)"
                             " y = fake.Times(b, a) }");
    set_floats(0, FLOATS(1, 2, -3), 3);
    run_context();
    assert_floats(0, FLOATS(6, 24, 54), 3);
    run_context();
    assert_floats(0, FLOATS(6, 24, 54), 3);
    set_floats(0, FLOATS(1, 1), 2);
    run_context();
    assert_floats(0, FLOATS(6, 6), 2);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up_runtime, tear_down_runtime);
    tcase_add_test(tests, a_chain_gives_what_its_operators_say);
}

UNIT_MAIN("run")
