/* Ini files: what is read, with which line, and what is refused. */
#include "core/conf/ini.h"

#include "unit.h"

#include <stdio.h>

static struct tn_diag diag;

static struct tn__ini *parse(const char *text) {
    struct tn__ini *ini = NULL;
    assert_ok(tn__ini_parse("f.ini", text, strlen(text), &ini, &diag), diag);
    return ini;
}

#define assert_refused(text, wanted, part)                                               \
    do {                                                                                 \
        struct tn__ini *none = NULL;                                                     \
        assert_fails(tn__ini_parse("f.ini", text, strlen(text), &none, &diag), diag,     \
            wanted, part);                                                               \
        ck_assert_ptr_null(none);                                                        \
    } while (0)

START_TEST(values_of_sections_come_with_their_lines) {
    struct tn__ini *ini = parse("top = 1\n"
                                "; a comment\n"
                                "[Plugin:org.tenon.cpu]\n"
                                "  Path = \"/a b;c\"  \n"
                                "empty =\n"
                                "tail = x y ; comment\n");
    ck_assert_uint_eq(tn__ini_count(ini), 4);
    ck_assert_str_eq(tn__ini_at(ini, 0)->section, "");
    ck_assert_str_eq(tn__ini_get(ini, "", "top"), "1");
    ck_assert_str_eq(tn__ini_get(ini, "plugin:org.tenon.cpu", "path"), "/a b;c");
    ck_assert_uint_eq(tn__ini_at(ini, 1)->line, 4);
    ck_assert_str_eq(tn__ini_get(ini, "plugin:org.tenon.cpu", "empty"), "");
    ck_assert_str_eq(tn__ini_get(ini, "plugin:org.tenon.cpu", "tail"), "x y");
    ck_assert_ptr_null(tn__ini_get(ini, "plugin:org.tenon.cpu", "top"));
    tn__ini_free(ini);
}
END_TEST

START_TEST(empty_texts_and_missing_newlines_are_fine) {
    struct tn__ini *ini = parse("");
    ck_assert_uint_eq(tn__ini_count(ini), 0);
    tn__ini_free(ini);
    ini = parse("[a]\r\nk=v");
    ck_assert_str_eq(tn__ini_get(ini, "a", "k"), "v");
    tn__ini_free(ini);
}
END_TEST

START_TEST(malformed_lines_are_refused_by_number) {
    assert_refused("[a]\nnonsense\n", TN_INVALID_ARGUMENT, "f.ini:2: expected");
    assert_refused("= 1\n", TN_INVALID_ARGUMENT, "f.ini:1: expected");
    assert_refused("[a\nk = 1\n", TN_INVALID_ARGUMENT, "f.ini:1: a section must end");
    assert_refused("[]\n", TN_INVALID_ARGUMENT, "f.ini:1: a section needs a name");
    assert_refused("a = 1\n\nA = 2\n", TN_INVALID_ARGUMENT,
        "f.ini:3: key 'a' is already set in line 1");
    assert_refused("a = \\\n1\n", TN_INVALID_ARGUMENT, "f.ini:1: a line cannot continue");
    assert_refused("a = \x01\n", TN_INVALID_ARGUMENT, "f.ini:1: a control character");
}
END_TEST

START_TEST(sizes_are_bounded) {
    static char text[2 << 20];
    memset(text, ';', 1001);
    assert_refused(text, TN_INVALID_ARGUMENT, "f.ini:1: a line over 1000 bytes");
    char *p = text;
    for (int i = 0; i < 4097; i++)
        p += sprintf(p, "k%d=\n", i);
    assert_refused(text, TN_INVALID_ARGUMENT, "f.ini:4097: more than 4096 keys");
    memset(text, '\n', sizeof text - 1);
    assert_refused(text, TN_LIMIT_EXCEEDED, "1 MiB");
}
END_TEST

START_TEST(every_cut_of_a_file_is_read_or_refused) {
    static const char text[] =
        "[a:b]\nkey = \"quoted ; text\" ; c\nother='x'\n[c]\nz = 1 # 2\n";
    for (size_t n = 0; n < sizeof text; n++) {
        struct tn__ini *ini = NULL;
        struct tn_diag d = {0};
        tn_status status = tn__ini_parse("f.ini", text, n, &ini, &d);
        ck_assert_int_eq(status == TN_OK, ini != NULL);
        tn__ini_free(ini);
    }
}
END_TEST

START_TEST(a_missing_file_and_a_folder_are_told_apart) {
    struct tn__ini *ini = NULL;
    assert_fails(tn__ini_load("/nonexistent/x.ini", &ini, &diag), diag, TN_NOT_FOUND,
        "/nonexistent/x.ini");
    assert_fails(tn__ini_load("/", &ini, &diag), diag, TN_IO, "not a regular file");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, values_of_sections_come_with_their_lines);
    tcase_add_test(tests, empty_texts_and_missing_newlines_are_fine);
    tcase_add_test(tests, malformed_lines_are_refused_by_number);
    tcase_add_test(tests, sizes_are_bounded);
    tcase_add_test(tests, every_cut_of_a_file_is_read_or_refused);
    tcase_add_test(tests, a_missing_file_and_a_folder_are_told_apart);
}

UNIT_MAIN("ini")
