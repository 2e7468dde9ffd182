/* Loading plugins from files: every fault of tests/fakes is refused with a sentence that
 * names it, what is merely longer or shorter is taken, and nothing is left behind. */
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tn_diag diag;
static struct tn__registry *registry;
static struct tn__conf *conf;
static char dir[64];

static int warnings;

static void quiet(void *self, uint32_t level, const char *message) {
    (void)self;
    (void)message;
    warnings += level <= TN_LOG_WARNING;
}

static const struct tn__host_services services = {.log = quiet};

static void setup(void) {
    unsetenv("TENON_PLUGIN_PATH");
    unsetenv("TENON_TEST_FAKE_RAN");
    assert_ok(tn__registry_create(NULL, &services, &registry, &diag), diag);
    strcpy(dir, "/tmp/tenon-loader-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void) {
    tn__registry_destroy(registry);
    tn__conf_destroy(conf);
    conf = NULL;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static const char *fake(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/org.tenon.fake.%s.so", FAKES_DIR, name);
    return path;
}

/* ---- faults ---- */

static const struct {
    const char *name, *part;
    int before_code; /* refused before any of its code runs */
} faults[] = {
    {"note_major", "was built for ABI 7.1, this host (Tenon ", 1},
    {"note_host_min", "needs a host with ABI 0.99 or newer", 1},
    {"note_old", "was built for ABI 0.0, this host", 1},
    {"note_sanitizer", "was built with MemorySanitizer, this host with", 1},
    {"no_note", "has no note of a Tenon plugin", 1},
    {"absent", "needs libtenon-absent-from-every-system.so.1, which the system", 0},
    {"no_symbol", "does not export tn_plugin_query_v0", 0},
    {"declines", "declines this host", 0},
    {"other_id", "'org.tenon.somebody.else' in its descriptor but", 0},
    {"bad_id", "has the id 'Bad Id'", 0},
    {"desc_minor", "was built for ABI 0.0, this host", 0},
    {"desc_host_min", "needs a host with ABI 0.42 or newer", 0},
    {"desc_sanitizer", "was built with an unknown sanitizer", 0},
    {"desc_flags", "needs features that this host does not know (flags 0x4)", 0},
    {"desc_zero", "has a descriptor of 0 bytes", 0},
    {"desc_huge", "has a descriptor of 4294967295 bytes", 0},
    {"no_version", "has no name or no version", 0},
    {"no_ops_slot", "operators, but its ops function is NULL", 0},
    {"init_fails", "failed to start: the fake device is on fire", 0},
    {"table_fails", "failed to give its table of operators (code 11)", 0},
    {"op_null", "a row of its operator table is NULL", 0},
    {"op_zero", "a row of its operator table has 0 bytes", 0},
    {"op_huge", "a row of its operator table has 2147483647 bytes", 0},
    {"op_flags", "a row of its operator table has flags 0x1", 0},
    {"op_reserved", "operator 'Double' has a reserved field that is not zero", 0},
    {"op_unsorted", "operator 'Double' lists versions that do not ascend", 0},
    {"op_unknown_var", "a formal whose type variable is not declared", 0},
    {"op_name", "names with blanks or commas", 0},
    {"op_conflict", "defines operator fake.Double differently from", 0},
    {"kernel_null", "a row of its kernel table is NULL", 0},
    {"kernel_zero", "a row of its kernel table has 0 bytes", 0},
    {"kernel_unknown_var", "constrains the types of 'Z', which is neither", 0},
    {"kernel_no_compute", "kernel 'Double' has no compute function", 0},
    {"provider_null", "a row of its provider table is NULL", 0},
    {"provider_twice", "lists the provider 'fake' twice", 0},
};

START_TEST(a_faulty_plugin_is_refused_and_named) {
    const char *path = fake(faults[_i].name);
    assert_fails(
        tn__registry_load(registry, path, &diag), diag, TN_PLUGIN, faults[_i].part);
    ck_assert_msg(strstr(diag.message, faults[_i].name), "no path in: %s", diag.message);
    ck_assert_msg(diag.plugin[0], "no plugin in the diagnosis");
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Double"));
    ck_assert_ptr_null(tn__registry_provider_at(registry, 0));
    if (faults[_i].before_code) ck_assert_ptr_null(getenv("TENON_TEST_FAKE_RAN"));
    /* the registry works on, and the report keeps the reason */
    assert_ok(tn__registry_load(registry, fake("good"), &diag), diag);
    ck_assert_ptr_nonnull(tn__registry_op(registry, "fake", "Double"));
    struct tn_text text = {0};
    assert_ok(
        tn__registry_report(registry, TN_REPORT_PLUGINS, TN_FORMAT_TEXT, &text, &diag),
        diag);
    ck_assert_msg(strstr(text.data, "refused") && strstr(text.data, faults[_i].part),
        "%s", text.data);
    tn__text_free(&text);
}
END_TEST

static const char *const harmless[] = {"good", "desc_shorter", "desc_longer",
    "desc_much_longer", "desc_advice", "op_shorter", "op_longer", "op_twice",
    "kernel_shorter", "kernel_longer"};

START_TEST(shorter_and_longer_tables_are_taken) {
    assert_ok(tn__registry_load(registry, fake(harmless[_i]), &diag), diag);
    const struct tn_op_def *def = tn__registry_op(registry, "fake", "Double");
    ck_assert_ptr_nonnull(def);
    ck_assert_ptr_null(def->doc); /* not the garbage behind a short row */
    ck_assert_ptr_null(def->infer);
    ck_assert_str_eq(tn__registry_provider(registry, "fake", &diag)->def->id, "fake");
}
END_TEST

START_TEST(one_plugin_twice_is_one_and_two_of_a_kind_are_refused) {
    assert_ok(tn__registry_load(registry, fake("good"), &diag), diag);
    assert_ok(tn__registry_load(registry, fake("good"), &diag), diag);
    ck_assert_ptr_null(tn__registry_provider_at(registry, 1));
    /* equal operators are no conflict, the same provider is */
    assert_fails(tn__registry_load(registry, fake("twin"), &diag), diag, TN_PLUGIN,
        "brings the provider 'fake', which '");
    ck_assert_ptr_nonnull(strstr(diag.message, "fake.good.so"));
}
END_TEST

START_TEST(what_is_not_there_or_unsafe_is_refused) {
    char path[128];
    assert_fails(tn__registry_load(registry, "/nonexistent/p.so", &diag), diag,
        TN_NOT_FOUND, "/nonexistent/p.so");
    snprintf(path, sizeof path, "%s/p.so", dir);
    FILE *f = fopen(path, "w");
    fputs("not a library", f);
    fclose(f);
    assert_fails(tn__registry_load(registry, path, &diag), diag, TN_PLUGIN,
        "is not a shared library");
    chmod(path, 0666);
    assert_fails(tn__registry_load(registry, path, &diag), diag, TN_PLUGIN, "shared");
    assert_fails(tn__registry_load(registry, dir, &diag), diag, TN_IO, "a folder");
}
END_TEST

/* ---- search ---- */

static void copy_file(const char *from, const char *to, const char *sed) {
    char command[1024];
    snprintf(command, sizeof command, "sed '%s' '%s' > '%s'", sed, from, to);
    ck_assert_int_eq(system(command), 0);
}

/* A folder with the good plugin and its manifest, edited by a sed script. */
static void make_folder(const char *sed) {
    char manifest[128], library[128];
    snprintf(library, sizeof library, "%s/org.tenon.fake.good.so", dir);
    if (access(library, F_OK) != 0) ck_assert_int_eq(symlink(fake("good"), library), 0);
    snprintf(manifest, sizeof manifest, "%s/org.tenon.fake.good.plugin.ini", dir);
    copy_file(FAKES_DIR "/org.tenon.fake.good.plugin.ini", manifest, sed);
}

/* A registry that searches that folder, with further settings. */
static void search(const char *key, const char *value) {
    struct tn_option options[] = {{"plugin.path", dir}, {key, value}};
    tn__registry_destroy(registry);
    registry = NULL;
    assert_ok(tn__conf_create(options, key ? 2 : 1, &conf, &diag), diag);
    assert_ok(tn__registry_create(conf, &services, &registry, &diag), diag);
}

/* State and reason as the report tells them, before anything else is opened. */
static int is_open(void) {
    return tn__registry_provider_at(registry, 0) != NULL;
}

START_TEST(a_plugin_is_opened_when_its_operator_is_needed) {
    make_folder("");
    search(NULL, NULL);
    ck_assert_int_eq(tn__registry_domain_newest(registry, "fake"), 2);
    ck_assert_ptr_null(tn__registry_op(registry, "", "Nothing"));
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Nothing"));
    ck_assert(!is_open());
    ck_assert_ptr_nonnull(tn__registry_op(registry, "fake", "Double"));
    ck_assert(is_open());
}
END_TEST

/* A further manifest in the folder. */
static void add_manifest(const char *name, const char *sed) {
    char manifest[128];
    snprintf(manifest, sizeof manifest, "%s/%s.plugin.ini", dir, name);
    copy_file(FAKES_DIR "/org.tenon.fake.good.plugin.ini", manifest, sed);
}

START_TEST(of_two_plugins_of_a_domain_the_one_that_is_needed_is_opened) {
    make_folder("");
    add_manifest("org.tenon.fake.more",
        "s/fake.good/fake.more/; s/= Double.*/= More/; /provider:0/,$d");
    search(NULL, NULL);
    warnings = 0;
    ck_assert_ptr_nonnull(tn__registry_op(registry, "fake", "Double"));
    ck_assert_int_eq(warnings, 0);
    /* there is no library beside the other manifest */
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "More"));
    ck_assert_int_eq(warnings, 1);
}
END_TEST

START_TEST(a_plugin_that_was_not_built_says_what_it_lacked) {
    make_folder("s/^abi.*/missing = libone and libtwo/");
    search(NULL, NULL);
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Double"));
    struct tn_text text = {0};
    assert_ok(
        tn__registry_report(registry, TN_REPORT_PLUGINS, TN_FORMAT_TEXT, &text, &diag),
        diag);
    ck_assert_msg(
        strstr(text.data, "not built for lack of libone and libtwo"), "%s", text.data);
    tn__text_free(&text);
}
END_TEST

START_TEST(a_plugin_that_was_not_built_gives_way_to_one_that_was) {
    make_folder("");
    add_manifest("first", "s/^abi.*/missing = libone/");
    search(NULL, NULL);
    ck_assert_ptr_nonnull(tn__registry_op(registry, "fake", "Double"));
}
END_TEST

START_TEST(a_plugin_is_opened_when_its_provider_is_asked_for) {
    make_folder("");
    search(NULL, NULL);
    ck_assert_ptr_null(tn__registry_provider(registry, "gpu", &diag));
    ck_assert_msg(strstr(diag.message, "providers found: fake"), "%s", diag.message);
    ck_assert(!is_open());
    ck_assert_ptr_nonnull(tn__registry_provider(registry, "fake", &diag));
}
END_TEST

START_TEST(a_plugin_is_opened_when_its_service_is_asked_for) {
    make_folder("");
    search(NULL, NULL);
    ck_assert_ptr_null(tn__registry_service(registry, "test.nothing/1"));
    ck_assert(!is_open());
    const int *service = tn__registry_service(registry, "test.fake/1");
    ck_assert_ptr_nonnull(service);
    ck_assert_int_eq(*service, 42);
    ck_assert(is_open());
    ck_assert_ptr_eq(tn__registry_service(registry, "test.fake/1"), service);
}
END_TEST

START_TEST(the_environment_adds_folders) {
    make_folder("");
    setenv("TENON_PLUGIN_PATH", dir, 1);
    tn__registry_destroy(registry);
    assert_ok(tn__conf_create(NULL, 0, &conf, &diag), diag);
    assert_ok(tn__registry_create(conf, &services, &registry, &diag), diag);
    unsetenv("TENON_PLUGIN_PATH");
    ck_assert_ptr_nonnull(tn__registry_op(registry, "fake", "Double"));
}
END_TEST

START_TEST(select_and_disable_keep_plugins_out) {
    make_folder("");
    search("plugin.disable", "org.tenon.fake.*");
    ck_assert_ptr_null(tn__registry_provider(registry, "fake", &diag));
    ck_assert_msg(strstr(diag.message, "disabled by plugin.disable"), "%s", diag.message);
    tn__conf_destroy(conf);
    search("plugin.select", "org.tenon.cpu");
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Double"));
    tn__conf_destroy(conf);
    search("plugin.select", "org.tenon.cpu,org.*.fake.good");
    ck_assert_ptr_nonnull(tn__registry_op(registry, "fake", "Double"));
}
END_TEST

static const struct {
    const char *sed, *part;
} drifts[] = {
    {"s/Double, Broken/Double/", "'Broken' is in the library but not in the manifest"},
    {"s/Double, Broken/Double, Broken, More/",
        "'More' is in the manifest but not in the library"},
    {"/provider:0/,$d", "'fake' is in the library but not in the manifest"},
    {"/services:0/,$d", "'test.fake/1' is in the library but not in the manifest"},
    {"s/^ids1 = .*/&, test.more/",
        "'test.more' is in the manifest but not in the library"},
    {"s/^id = org.*/id = org.tenon.fake.twin/", "is of plugin 'org.tenon.fake.twin'"},
};

START_TEST(a_manifest_that_does_not_fit_its_library_is_refused) {
    make_folder(drifts[_i].sed);
    search(NULL, NULL);
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Double"));
    struct tn_text text = {0};
    assert_ok(
        tn__registry_report(registry, TN_REPORT_PLUGINS, TN_FORMAT_JSON, &text, &diag),
        diag);
    ck_assert_msg(strstr(text.data, drifts[_i].part), "%s", text.data);
    ck_assert_ptr_nonnull(strstr(text.data, "\"state\":\"refused\""));
    tn__text_free(&text);
}
END_TEST

static const struct {
    const char *sed, *part;
} malformed[] = {
    {"s/^library.*/library = ..\\/x.so/", "library must be a path below"},
    {"s/^library.*/library = \\/lib\\/x.so/", "library must be a path below"},
    {"s/^library.*//", "has no id or no library"},
    {"s/^name = fake$//", "a version without the name of its domain"},
    {"s/^.plugin.$/[plugins/", "a section must end"},
    {"s/^.domain:0.$/[surprise]/", "an unknown section"},
    {"s/^newest/latest/", "an unknown key"},
    {"s/^newest.*/ops9 = \\x01/", "control character"},
    {"s/^ids1 = .*/ids1 = "
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/",
        "an id over 127 bytes"},
};

START_TEST(a_malformed_manifest_is_refused_by_line) {
    make_folder(malformed[_i].sed);
    search(NULL, NULL);
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Double"));
    struct tn_text text = {0};
    assert_ok(
        tn__registry_report(registry, TN_REPORT_PLUGINS, TN_FORMAT_TEXT, &text, &diag),
        diag);
    ck_assert_msg(strstr(text.data, malformed[_i].part), "%s", text.data);
    tn__text_free(&text);
}
END_TEST

START_TEST(a_folder_that_everybody_may_write_is_not_trusted) {
    make_folder("");
    chmod(dir, 0777);
    search(NULL, NULL);
    ck_assert_ptr_null(tn__registry_op(registry, "fake", "Double"));
    struct tn_text text = {0};
    assert_ok(
        tn__registry_report(registry, TN_REPORT_PLUGINS, TN_FORMAT_TEXT, &text, &diag),
        diag);
    ck_assert_msg(strstr(text.data, "can be written by everybody"), "%s", text.data);
    tn__text_free(&text);
    chmod(dir, 0700);
}
END_TEST

/* ---- endurance ---- */

START_TEST(every_failing_allocation_leaves_nothing_behind) {
    make_folder("");
    struct tn_option options[] = {{"plugin.path", dir}};
    assert_ok(tn__conf_create(options, 1, &conf, &diag), diag);
    for (uint64_t n = 1; n < 500; n++) {
        struct tn__registry *r = NULL;
        struct tn_diag d = {0};
        tn__alloc_fail_at(n);
        tn_status status = tn__registry_create(conf, &services, &r, &d);
        if (status == TN_OK) (void)tn__registry_provider(r, "fake", &d);
        int found = status == TN_OK && tn__registry_provider_at(r, 0);
        tn__alloc_fail_at(0);
        ck_assert_msg(
            d.code == TN_OK || d.code == TN_OUT_OF_MEMORY || d.message[0], "%d", d.code);
        tn__registry_destroy(r);
        if (found) return;
    }
    ck_abort_msg("no end");
}
END_TEST

START_TEST(a_thousand_lives_are_as_one) {
    for (int i = 0; i < 1000; i++) {
        struct tn__registry *r = NULL;
        assert_ok(tn__registry_create(NULL, &services, &r, &diag), diag);
        assert_ok(tn__registry_load(r, fake("good"), &diag), diag);
        tn__registry_destroy(r);
    }
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(
        tests, a_faulty_plugin_is_refused_and_named, 0, sizeof faults / sizeof faults[0]);
    tcase_add_loop_test(tests, shorter_and_longer_tables_are_taken, 0,
        sizeof harmless / sizeof harmless[0]);
    tcase_add_test(tests, one_plugin_twice_is_one_and_two_of_a_kind_are_refused);
    tcase_add_test(tests, what_is_not_there_or_unsafe_is_refused);
    tcase_add_test(tests, a_plugin_is_opened_when_its_operator_is_needed);
    tcase_add_test(tests, of_two_plugins_of_a_domain_the_one_that_is_needed_is_opened);
    tcase_add_test(tests, a_plugin_that_was_not_built_says_what_it_lacked);
    tcase_add_test(tests, a_plugin_that_was_not_built_gives_way_to_one_that_was);
    tcase_add_test(tests, a_plugin_is_opened_when_its_provider_is_asked_for);
    tcase_add_test(tests, a_plugin_is_opened_when_its_service_is_asked_for);
    tcase_add_test(tests, the_environment_adds_folders);
    tcase_add_test(tests, select_and_disable_keep_plugins_out);
    tcase_add_loop_test(tests, a_manifest_that_does_not_fit_its_library_is_refused, 0,
        sizeof drifts / sizeof drifts[0]);
    tcase_add_loop_test(tests, a_malformed_manifest_is_refused_by_line, 0,
        sizeof malformed / sizeof malformed[0]);
    tcase_add_test(tests, a_folder_that_everybody_may_write_is_not_trusted);
    tcase_add_test(tests, every_failing_allocation_leaves_nothing_behind);
    tcase_add_test(tests, a_thousand_lives_are_as_one);
}

UNIT_MAIN("loader")
