/* scikit-learn's text features as skl2onnx writes them, against scikit-learn's own outputs, at
 * every optimisation level (tests/data/make_text_models.py). */
#include "e2e.h"

#include <stdio.h>

static const struct {
    const char *model, *texts;
} models[] = {{"count", "lines"}, {"count_9", "lines"}, {"count_binary_words", "lines"},
    {"count_cased_pairs", "lines"}, {"count_characters", "lines"},
    {"count_pairs_only", "lines"}, {"count_separators", "lines"}, {"hasher", "words"},
    {"tfidf", "lines"}, {"tfidf_pairs", "lines"}, {"tfidf_unsmoothed", "lines"}};
static const char *const levels[] = {"none", "basic", "all"};

enum { MODELS = sizeof models / sizeof *models, LEVELS = 3, LINES = 64 };

/* The lines of a file: texts[i] borrow from buf. */
static int64_t read_lines(
    const char *path, char *buf, size_t size, struct tn_string *texts) {
    FILE *file = fopen(e2e_path(path), "rb");
    ck_assert_ptr_nonnull(file);
    size_t n = fread(buf, 1, size, file);
    ck_assert_uint_lt(n, size);
    fclose(file);
    int64_t count = 0;
    for (const char *at = buf, *end; at < buf + n; at = end + 1) {
        end = memchr(at, '\n', (size_t)(buf + n - at));
        ck_assert(end && count < LINES);
        texts[count++] = (struct tn_string){at, (uint64_t)(end - at)};
    }
    return count;
}

START_TEST(agrees_with_scikit_learn) {
    const char *name = models[_i % MODELS].model, *level = levels[_i / MODELS];
    char path[128], buf[4096];
    struct tn_string texts[LINES];
    struct tn_context *context;
    struct tn_diag diag = {0};
    snprintf(path, sizeof path, "tests/data/text_%s.txt", models[_i % MODELS].texts);
    int64_t dims[2] = {read_lines(path, buf, sizeof buf, texts), 1};
    struct tn_tensor x = {.data = texts,
        .dims = dims,
        .rank = 2,
        .dtype = TN_STRING,
        .size = (uint64_t)dims[0] * sizeof *texts};
    const struct tn_value_ref input = {TN_KIND_TENSOR, 0, {&x}};
    snprintf(path, sizeof path, "tests/data/text_%s.onnx", name);
    struct tn_runtime *runtime = e2e_runtime((const char *const[]){NULL});
    struct tn_session *session =
        e2e_session(runtime, path, (const char *const[]){"level", level, NULL});
    snprintf(path, sizeof path, "tests/data/text_%s.npy", name);
    struct tn_value *y = e2e_load(path);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(tn_context_set_input(context, 0, &input, &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    ck_assert_double_le(e2e_max_diff(tn_context_output(context, 0)->as.tensor,
                            tn_value_get(y)->as.tensor),
        1e-6);
    tn_context_destroy(context);
    tn_value_release(&y);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_loop_test(tests, agrees_with_scikit_learn, 0, MODELS * LEVELS);
}

UNIT_MAIN("text")
