/* Every rule of `tenon plugin lint` finds the library that breaks it, and finds nothing in
 * one that does not. Arguments: pairs of a rule's name and a library; "clean" wants none.
 * org.tenon.fake.good is also cut short and mutated, and given a manifest that drifted. */
#include "lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned failures, checks;

struct heard {
    const char *wanted;
    unsigned errors, of_rule;
    char last[1200];
};

static void hear(void *arg, const struct tn_lint_finding *finding) {
    struct heard *heard = arg;
    if (finding->level == TN_LINT_ERROR) heard->errors++;
    if (strcmp(finding->rule, heard->wanted) == 0) heard->of_rule++;
    if (finding->level == TN_LINT_ERROR || strcmp(finding->rule, heard->wanted) == 0)
        snprintf(
            heard->last, sizeof heard->last, "[%s] %s", finding->rule, finding->text);
}

static void expect(int ok, const char *what, const char *path, const char *text) {
    checks++;
    if (ok) return;
    failures++;
    fprintf(stderr, "FAIL %s: %s: %s\n", what, path, text);
}

static void check(const char *rule, const char *path) {
    struct heard heard = {.wanted = rule};
    uint32_t errors = tn_lint_file(path, hear, &heard);
    expect(errors == heard.errors, "the result counts the errors", path, heard.last);
    if (strcmp(rule, "clean") == 0)
        expect(errors == 0, "a correct plugin has no error", path, heard.last);
    else
        expect(heard.of_rule > 0, rule, path, heard.last);
}

/* ---- the manifest -------------------------------------------------------------------- */

static unsigned char bytes[8 << 20]; /* of the library in hand */

static size_t read_file(const char *path) {
    FILE *from = fopen(path, "rb");
    size_t n = from ? fread(bytes, 1, sizeof bytes, from) : 0;
    if (from) fclose(from);
    return n;
}

static int write_file(const char *path, const void *data, size_t n) {
    FILE *to = fopen(path, "wb");
    int ok = to && fwrite(data, 1, n, to) == n;
    return to && fclose(to) == 0 && ok;
}

/* A copy of the library beside its manifest, of which one character is another. */
static void check_drift(const char *path, const char *manifest) {
    char folder[] = "/tmp/tenon-lint-XXXXXX", library[256], beside[256];
    static char text[1 << 16];
    struct heard heard = {.wanted = "manifest"};
    expect(mkdtemp(folder) != NULL, "a folder", folder, "");
    snprintf(library, sizeof library, "%s/%s", folder, strrchr(path, '/') + 1);
    snprintf(beside, sizeof beside, "%s/%s", folder, strrchr(manifest, '/') + 1);
    size_t n = read_file(manifest);
    memcpy(text, bytes, n < sizeof text ? n : 0);
    char *newest = strstr(text, "newest = ");
    expect(newest != NULL, "the manifest names a version", manifest, "");
    n = read_file(path);
    if (newest && write_file(library, bytes, n)) {
        expect(tn_lint_file(library, hear, &heard) == 0 && heard.of_rule == 1,
            "a plugin without a manifest is warned of", path, heard.last);
        heard = (struct heard){.wanted = "manifest"};
        newest[strlen("newest = ")]++;
        write_file(beside, text, strlen(text));
        expect(tn_lint_file(library, hear, &heard) == 1 && heard.of_rule == 1,
            "a manifest that drifted", path, heard.last);
    }
    unlink(library);
    unlink(beside);
    rmdir(folder);
}

/* ---- hostile files ------------------------------------------------------------------- */

/* Every prefix of a real library ends in findings, never in a crash. */
static void check_prefixes(const char *path) {
    char name[] = "/tmp/tenon-lint-XXXXXX";
    int file = mkstemp(name);
    size_t n = read_file(path);
    expect(n > 4096 && file >= 0, "the library can be read", path, "");
    for (size_t at = 0; file >= 0 && at < n; at += at < 1024 ? 7 : 509) {
        struct heard heard = {.wanted = "clean"};
        if (ftruncate(file, 0) != 0 || pwrite(file, bytes, at, 0) != (ssize_t)at) break;
        expect(tn_lint_file(name, hear, &heard) > 0, "a cut library has errors", path,
            heard.last);
    }
    if (file >= 0) close(file);
    unlink(name);
}

/* One byte at a time of the headers and the dynamic section changed: no crash. */
static void check_mutations(const char *path) {
    char folder[] = "/tmp/tenon-lint-XXXXXX", name[64];
    size_t n = read_file(path);
    expect(mkdtemp(folder) != NULL, "a folder", folder, "");
    snprintf(name, sizeof name, "%s/x.so", folder);
    uint32_t seed = 12345;
    for (unsigned i = 0; i < 400 && n > 0; i++) {
        struct heard heard = {.wanted = "clean"};
        seed = seed * 1664525u + 1013904223u;
        size_t at = i < 300 ? seed % 1024 : n - 1 - seed % (n / 4);
        unsigned char kept = bytes[at];
        bytes[at] = (unsigned char)(seed >> 24);
        if (write_file(name, bytes, n)) (void)tn_lint_file(name, hear, &heard);
        bytes[at] = kept;
    }
    unlink(name);
    rmdir(folder);
    checks++;
}

int main(int argc, char **argv) {
    uint32_t n_rules = 0;
    const struct tn_lint_rule *rules = tn_lint_rules(&n_rules);
    umask(022);
    for (int i = 1; i + 1 < argc; i += 2) {
        int known = strcmp(argv[i], "clean") == 0;
        for (uint32_t r = 0; r < n_rules; r++)
            known |= strcmp(argv[i], rules[r].name) == 0;
        expect(known, "the rule exists", argv[i], "");
        check(argv[i], argv[i + 1]);
        if (strstr(argv[i + 1], "fake.good")) {
            char manifest[4096];
            snprintf(manifest, sizeof manifest, "%.*s.plugin.ini",
                (int)(strlen(argv[i + 1]) - strlen(".so")), argv[i + 1]);
            check_drift(argv[i + 1], manifest);
            check_prefixes(argv[i + 1]);
            check_mutations(argv[i + 1]);
        }
    }
    printf("%u checks, %u failed\n", checks, failures);
    return failures != 0 || checks == 0;
}
