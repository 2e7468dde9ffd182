/* A build with its plugins linked in: they are there without a search, and no library is
 * opened. */
#include "core/registry/registry.h"

#include "unit.h"

static struct tn_diag diag;

START_TEST(the_plugins_are_there_and_no_library_is_opened) {
    struct tn__registry *registry = NULL;
    assert_ok(tn__registry_create(NULL, NULL, &registry, &diag), diag);
    ck_assert_ptr_nonnull(tn__registry_provider(registry, "cpu", &diag));
    ck_assert_int_ge(tn__registry_domain_newest(registry, ""), 20);
    assert_fails(tn__registry_load(registry, "/lib/x.so", &diag), diag, TN_UNSUPPORTED,
        "this build has its plugins linked in");
    tn__registry_destroy(registry);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, the_plugins_are_there_and_no_library_is_opened);
}

UNIT_MAIN("static_plugins")
