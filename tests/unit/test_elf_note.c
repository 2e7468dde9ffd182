/* The note of a plugin file: found in a real one, and every damaged copy refused without
 * reading outside it. */
#include "core/registry/elf_note.h"

#include "core/os/file.h"
#include "unit.h"

static struct tn_diag diag;
static struct tn__mapping file;
static unsigned char *copy;

static void setup(void) {
    assert_ok(tn__file_map(FAKES_DIR "/org.tenon.fake.good.so", &file, &diag), diag);
    copy = malloc(file.size);
    memcpy(copy, file.data, file.size);
}

static void teardown(void) {
    free(copy);
    tn__file_unmap(&file);
}

START_TEST(the_note_of_a_plugin_is_read) {
    struct tn__elf_note note;
    assert_ok(tn__elf_parse_note(copy, file.size, "x.so", &note, &diag), diag);
    ck_assert_str_eq(note.id, "org.tenon.fake.good");
    ck_assert_uint_eq(note.abi_major, 0);
    ck_assert_uint_eq(note.abi_minor, 1);
}
END_TEST

START_TEST(other_files_are_told_apart) {
    struct tn__elf_note note;
    assert_fails(tn__elf_parse_note("#!/bin/sh", 9, "x.so", &note, &diag), diag,
        TN_PLUGIN, "'x.so' is not a shared library");
    assert_fails(
        tn__elf_parse_note("", 0, "x.so", &note, &diag), diag, TN_PLUGIN, "not a shared");
    copy[18] = 40; /* e_machine: 32-bit ARM */
    assert_fails(tn__elf_parse_note(copy, file.size, "x.so", &note, &diag), diag,
        TN_PLUGIN, "built for ARM (32 bit)");
    memcpy(copy, file.data, 64);
    copy[16] = 2; /* e_type: a program */
    assert_fails(tn__elf_parse_note(copy, file.size, "x.so", &note, &diag), diag,
        TN_PLUGIN, "not a shared library");
}
END_TEST

START_TEST(cut_files_are_refused_or_read_inside_their_bounds) {
    for (uint64_t n = 0; n < file.size; n += n < 1024 ? 1 : 97) {
        struct tn__elf_note note;
        struct tn_diag d = {0};
        unsigned char *cut =
            malloc(n ? n : 1); /* its own block, so that overreads show */
        memcpy(cut, file.data, n);
        (void)tn__elf_parse_note(cut, n, "x.so", &note, &d);
        free(cut);
    }
}
END_TEST

START_TEST(flipped_bytes_are_refused_or_read_inside_their_bounds) {
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        struct tn__elf_note note;
        struct tn_diag d = {0};
        random = random * 1664525u + 1013904223u;
        uint64_t at = (random >> 8) % 1024; /* headers, and notes right behind them */
        unsigned char before = copy[at];
        copy[at] = (unsigned char)(random >> 3);
        (void)tn__elf_parse_note(copy, file.size, "x.so", &note, &d);
        copy[at] = before;
    }
}
END_TEST

START_TEST(missing_libraries_are_listed) {
    struct tn_text missing = {0};
    tn__elf_missing(FAKES_DIR "/org.tenon.fake.absent.so", &missing);
    ck_assert_str_eq(missing.data, "libtenon-absent-from-every-system.so.1");
    tn__text_free(&missing);
    tn__elf_missing(FAKES_DIR "/org.tenon.fake.good.so", &missing);
    ck_assert_uint_eq(missing.size, 0);
    tn__text_free(&missing);
    tn__elf_missing("/nonexistent", &missing);
    ck_assert_uint_eq(missing.size, 0);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_note_of_a_plugin_is_read);
    tcase_add_test(tests, other_files_are_told_apart);
    tcase_add_test(tests, cut_files_are_refused_or_read_inside_their_bounds);
    tcase_add_test(tests, flipped_bytes_are_refused_or_read_inside_their_bounds);
    tcase_add_test(tests, missing_libraries_are_listed);
}

UNIT_MAIN("elf_note")
