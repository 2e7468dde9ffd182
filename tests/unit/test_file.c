/* Mappings, trust checks, paths and listings. */
#include "core/os/file.h"

#include "core/base/alloc.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tn_diag diag;
static char dir[64];

static char *at(const char *name) {
    static char path[4][256];
    static unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", dir, name);
    return out;
}

static void put(const char *name, const char *text) {
    FILE *f = fopen(at(name), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void make_dir(void) {
    strcpy(dir, "/tmp/tenon-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_mapping_shows_the_bytes) {
    put("a", "hello");
    struct tn__mapping m;
    assert_ok(tn__file_map(at("a"), &m, &diag), diag);
    ck_assert_uint_eq(m.size, 5);
    ck_assert_mem_eq(m.data, "hello", 5);
    tn__file_forget(m.data, m.size);
    ck_assert_mem_eq(m.data, "hello", 5);
    tn__file_unmap(&m);
    ck_assert_ptr_null(m.data);
    put("empty", "");
    assert_ok(tn__file_map(at("empty"), &m, &diag), diag);
    ck_assert_uint_eq(m.size, 0);
    tn__file_unmap(&m);
}
END_TEST

START_TEST(what_cannot_be_mapped_is_named) {
    struct tn__mapping m;
    assert_fails(tn__file_map(at("none"), &m, &diag), diag, TN_NOT_FOUND, "none");
    assert_fails(tn__file_map(dir, &m, &diag), diag, TN_IO, "a folder");
    ck_assert_int_eq(mkfifo(at("pipe"), 0600), 0);
    assert_fails(tn__file_map(at("pipe"), &m, &diag), diag, TN_IO, "pipe");
}
END_TEST

START_TEST(files_that_everybody_may_write_are_not_safe) {
    put("a", "x");
    chmod(at("a"), 0644);
    assert_ok(tn__file_check_safe(at("a"), &diag), diag);
    chmod(at("a"), 0666);
    assert_fails(tn__file_check_safe(at("a"), &diag), diag, TN_PLUGIN, "chmod o-w");
    chmod(at("a"), 0644);
    chmod(dir, 0777);
    assert_fails(tn__file_check_safe(at("a"), &diag), diag, TN_PLUGIN, "folder");
    chmod(dir, 0700);
    assert_fails(tn__file_check_safe(dir, &diag), diag, TN_PLUGIN, "regular");
    assert_fails(tn__file_check_safe(at("none"), &diag), diag, TN_NOT_FOUND, "none");
}
END_TEST

START_TEST(listings_are_sorted_and_bounded) {
    put("b.ini", "");
    put("a.ini", "");
    put("c.txt", "");
    struct tn__names names;
    assert_ok(tn__dir_list(dir, ".ini", 2, &names, &diag), diag);
    ck_assert_uint_eq(names.n, 2);
    ck_assert_str_eq(names.items[0], "a.ini");
    ck_assert_str_eq(names.items[1], "b.ini");
    tn__names_free(&names);
    assert_fails(tn__dir_list(dir, ".ini", 1, &names, &diag), diag, TN_LIMIT_EXCEEDED,
        "more than 1");
    assert_fails(
        tn__dir_list(at("none"), "", 1, &names, &diag), diag, TN_NOT_FOUND, "none");
}
END_TEST

START_TEST(paths_join_and_resolve) {
    char *path = tn__path_join("/a/", "b");
    ck_assert_str_eq(path, "/a/b");
    tn__free(path);
    path = tn__path_join("a", "b");
    ck_assert_str_eq(path, "a/b");
    tn__free(path);
    path = tn__path_join("/a", "/b");
    ck_assert_str_eq(path, "/b");
    tn__free(path);
    put("file", "");
    ck_assert_int_eq(symlink("file", at("link")), 0);
    assert_ok(tn__path_real(at("link"), &path, &diag), diag);
    ck_assert_ptr_nonnull(strstr(path, "/file"));
    tn__free(path);
    assert_fails(tn__path_real(at("none"), &path, &diag), diag, TN_NOT_FOUND, "none");
    ck_assert(tn__path_is_dir(dir));
    ck_assert(!tn__path_is_dir(at("file")));
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, make_dir, remove_dir);
    tcase_add_test(tests, a_mapping_shows_the_bytes);
    tcase_add_test(tests, what_cannot_be_mapped_is_named);
    tcase_add_test(tests, files_that_everybody_may_write_are_not_safe);
    tcase_add_test(tests, listings_are_sorted_and_bounded);
    tcase_add_test(tests, paths_join_and_resolve);
}

UNIT_MAIN("file")
