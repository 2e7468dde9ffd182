/* Small models whose work would grow with the square of their size: each is loaded and run, or
 * refused, within seconds. */
#include "../unit/unit.h"

#include "trial.h"

#include <stdio.h>

enum { SECONDS = 30, ROOM = 8 << 20 };

/* A model's text as it grows. */
struct text {
    char *data;
    size_t size;
};

static void say(struct text *t, const char *words) {
    size_t n = strlen(words);
    ck_assert_uint_lt(t->size + n, ROOM);
    memcpy(t->data + t->size, words, n);
    t->size += n;
}

static void repeat(struct text *t, const char *words, unsigned times) {
    while (times--)
        say(t, words);
}

/* n copies of an item, separated by commas. */
static void list(struct text *t, const char *item, unsigned n) {
    say(t, item);
    for (unsigned i = 1; i < n; i++) {
        say(t, ",");
        say(t, item);
    }
}

static void counts_of(struct text *t, const char *tokens, unsigned n_tokens) {
    char type[40];
    snprintf(type, sizeof type, "<int64[%u] x = {", n_tokens);
    say(t, "g (int64 a) => (float[n] y) ");
    say(t, type);
    list(t, tokens, n_tokens);
    say(t, "}> { y = TfIdfVectorizer <mode = \"TF\", min_gram_length = 1, max_skip_count "
           "= 0, ");
}

static void an_ngram_listed_200000_times(struct text *t) {
    counts_of(t, "7", 3);
    say(t, "max_gram_length = 1, ngram_counts = [0], pool_int64s = [");
    list(t, "5", 200000);
    say(t, "], ngram_indexes = [");
    list(t, "0", 200000);
    say(t, "]> (x) }");
}

static void ngrams_of_up_to_5000_tokens(struct text *t) {
    counts_of(t, "1", 5000);
    say(t, "max_gram_length = 5000, ngram_counts = [0,");
    list(t, "1", 4999);
    say(t, "], pool_int64s = [1], ngram_indexes = [0]> (x) }");
}

static void ngrams_of_5000_tokens(struct text *t) {
    counts_of(t, "1", 10000);
    say(t, "max_gram_length = 5000, ngram_counts = [");
    list(t, "0", 5000);
    say(t, "], pool_int64s = [");
    list(t, "1", 5000);
    say(t, "], ngram_indexes = [0]> (x) }");
}

static void tokens_of(struct text *t, unsigned length, const char *least) {
    say(t, "g (int64 a) => (string[1,n] y) <string[1] x = {\"");
    repeat(t, "a", length);
    say(t,
        "\"}> { y = com.microsoft.Tokenizer <mark = 0, pad_value = \"#\", mincharnum = ");
    say(t, least);
}

static void a_token_that_is_one_letter_short(struct text *t) {
    tokens_of(t, 1000000, "1000001");
    say(t, ", tokenexp = \"[a-z]+\"> (x) }");
}

static void many_separators(struct text *t) {
    tokens_of(t, 500000, "1");
    say(t, ", separators = [");
    list(t, "\"[b]+\"", 50000);
    say(t, "]> (x) }");
}

static void a_delimiter_that_nearly_fits_everywhere(struct text *t) {
    say(t, "g (int64 a) => (string[1,n] y) <string[1] x = {\"");
    repeat(t, "a", 1000000);
    say(t, "\"}> { y, z = StringSplit <delimiter = \"");
    repeat(t, "a", 500000);
    say(t, "b\"> (x) }");
}

static void (*const models[])(struct text *t) = {
    an_ngram_listed_200000_times,
    ngrams_of_up_to_5000_tokens,
    ngrams_of_5000_tokens,
    a_token_that_is_one_letter_short,
    many_separators,
    a_delimiter_that_nearly_fits_everywhere,
};

START_TEST(a_small_model_ends_soon) {
    struct tn_runtime *runtime = trial_runtime();
    struct text text = {malloc(ROOM), 0};
    struct trial trial;
    ck_assert_ptr_nonnull(runtime);
    say(&text, "<ir_version: 8, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> ");
    models[_i](&text);
    trial_model(runtime, text.data, text.size, NULL, 0, NULL, &trial);
    ck_assert_msg(!trial.complaint[0], "%s", trial.complaint);
    ck_assert_msg(
        trial.status == TN_OK || trial.status == TN_LIMIT_EXCEEDED ||
            trial.status == TN_DEADLINE, /* a sanitized run is slow, but it ends */
        "%s", trial.message);
    free(text.data);
    tn_runtime_destroy(runtime);
}
END_TEST

#ifdef TN_HAVE_ML
/* Rows of many scores get the memory that they need, not that of a block of hundreds: here
 * 64 MiB must do. */
START_TEST(a_tree_of_many_targets_runs) {
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 3]> "
        "g (float[64,1] x) => (float[64,y] y) { y = ai.onnx.ml.TreeEnsembleRegressor "
        "<nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [0,0,0], "
        "nodes_modes = [\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"], nodes_values = [0.5,0.0,0.0], "
        "nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], target_treeids = "
        "[0,0], target_nodeids = [1,2], target_ids = [0,0], target_weights = [1.0,2.0], "
        "n_targets = 50000> (x) }";
    struct tn_runtime *runtime = trial_runtime();
    struct trial trial;
    ck_assert_ptr_nonnull(runtime);
    trial_model(runtime, text, sizeof text - 1, NULL, 0, NULL, &trial);
    ck_assert_msg(!trial.complaint[0], "%s", trial.complaint);
    ck_assert_msg(trial.status == TN_OK, "%s", trial.message);
    tn_runtime_destroy(runtime);
}
END_TEST
#endif

static void add_tests(TCase *tests) {
    tcase_set_timeout(tests, SECONDS);
    tcase_add_loop_test(
        tests, a_small_model_ends_soon, 0, sizeof models / sizeof *models);
#ifdef TN_HAVE_ML
    tcase_add_test(tests, a_tree_of_many_targets_runs);
#endif
}

UNIT_MAIN("hostile_time")
