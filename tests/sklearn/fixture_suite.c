/* Runs every fixture of cases.tsv: models that converters wrote, with the answers of
 * scikit-learn, XGBoost, LightGBM and CatBoost themselves. Labels are equal on every row,
 * scores within the table's limits; a limit above STRICT and rows that are left out need a
 * reason there.
 *
 *     fixture_suite FOLDER [--level LEVEL] [--isa ISA] [--filter TEXT] [--text no] */
#include <stdio.h>

#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static const double STRICT = 1e-5;

struct suite {
    const char *folder, *level, *isa, *filter;
    const char *text; /* "no": plugins/text is not built */
    struct tn_runtime *runtime;
    unsigned passed, failed;
};

/* One fixture on its way. */
struct trial {
    const struct fixture_row *row;
    struct fixture fixture;
    struct tn_session *session;
    struct tn_context *context;
    struct tn_map maps[FIXTURE_INPUTS];
    struct tn_diag diag;
    char why[600];
};

/* ---- one fixture ---------------------------------------------------------------------- */

/* The table's own promises: no wider limit and no missing row without a reason. */
static bool row_is_honest(struct trial *t) {
    bool needs_reason = t->row->wrong_rows > 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < t->row->n_limits; i++)
        needs_reason |= t->row->limits[i].relative > STRICT;
    if (t->fixture.wrong) {
        const struct tn_tensor *flags = tn_value_get(t->fixture.wrong)->as.tensor;
        for (uint64_t i = 0; i < flags->size; i++)
            wrong += ((const bool *)flags->data)[i];
    }
    if (wrong == t->row->wrong_rows && (!needs_reason || t->row->reason[0])) return true;
    snprintf(t->why, sizeof t->why,
        "the table counts %u rows, the archive %u; reason: '%s'", t->row->wrong_rows,
        wrong, t->row->reason);
    return false;
}

static tn_status open_model(const struct suite *suite, struct trial *t) {
    const struct tn_tensor *bytes = tn_value_get(t->fixture.model)->as.tensor;
    struct tn_model model = {.data = bytes->data, .size = bytes->size};
    struct tn_option level = {"level", suite->level};
    struct tn_session_options options = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = &level, .n_options = 1};
    tn_status status =
        tn_session_create(suite->runtime, &model, &options, &t->session, &t->diag);
    return status == TN_OK ? tn_context_create(t->session, &t->context, &t->diag)
                           : status;
}

static tn_status set_inputs(struct trial *t) {
    tn_status status = TN_OK;
    for (unsigned i = 0; i < FIXTURE_INPUTS && status == TN_OK; i++) {
        if (!t->fixture.inputs[i]) continue;
        const struct tn_value_ref *value = tn_value_get(t->fixture.inputs[i]);
        struct tn_value_ref map = {.kind = TN_KIND_MAP, .as = {.map = &t->maps[i]}};
        if (t->fixture.input_keys[i])
            t->maps[i] = (struct tn_map){
                *tn_value_get(t->fixture.input_keys[i])->as.tensor, *value->as.tensor};
        status = tn_context_set_input(
            t->context, i, t->fixture.input_keys[i] ? &map : value, &t->diag);
    }
    return status;
}

static bool outputs_agree(struct trial *t) {
    char why[400] = "";
    unsigned compared = 0;
    for (unsigned i = 0; i < FIXTURE_OUTPUTS; i++) {
        if (!t->fixture.outputs[i]) continue;
        struct fixture_limit limit = i < t->row->n_limits
                                         ? t->row->limits[i]
                                         : (struct fixture_limit){false, STRICT};
        compared++;
        if (fixture_same(
                &t->fixture, i, limit, tn_context_output(t->context, i), why, sizeof why))
            continue;
        snprintf(t->why, sizeof t->why, "output %u: %s", i, why);
        return false;
    }
    return compared > 0;
}

static bool passes(const struct suite *suite, struct trial *t) {
    char path[4096];
    snprintf(path, sizeof path, "%s/fixtures/%s.npz", suite->folder, t->row->name);
    if (fixture_load(path, &t->fixture, &t->diag) == TN_OK && !row_is_honest(t))
        return false;
    if (t->diag.code == TN_OK && open_model(suite, t) == TN_OK &&
        set_inputs(t) == TN_OK && tn_context_run(t->context, NULL, &t->diag) == TN_OK)
        return outputs_agree(t);
    snprintf(t->why, sizeof t->why, "%.500s", t->diag.message);
    return false;
}

static void try_one(struct suite *suite, const struct fixture_row *row) {
    struct trial t = {.row = row};
    bool good = passes(suite, &t);
    suite->passed += good;
    suite->failed += !good;
    if (!good) printf("FAILED %s: %s\n", row->name, t.why);
    tn_context_destroy(t.context);
    tn_session_destroy(t.session);
    fixture_free(&t.fixture);
}

/* ---- all of them ---------------------------------------------------------------------- */

static bool needs_text(const char *name) {
    static const char *const rows[] = {
        "CountVectorizer", "TfidfVectorizer", "FeatureHasher"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(name, rows[i], strlen(rows[i])) == 0) return true;
    }
    return false;
}

static void try_all(struct suite *suite, FILE *table) {
    struct fixture_row row;
    bool text = strcmp(suite->text, "no") != 0;
    while (fixture_next(table, &row)) {
        if (strstr(row.name, suite->filter) && (text || !needs_text(row.name)))
            try_one(suite, &row);
    }
}

static bool parse(int argc, char **argv, struct suite *out) {
    *out = (struct suite){.level = "all", .isa = "best", .filter = "", .text = "yes"};
    const struct {
        const char *name, **value;
    } rows[] = {{"--level", &out->level}, {"--isa", &out->isa},
        {"--filter", &out->filter}, {"--text", &out->text}};
    if (argc < 2) return false;
    out->folder = argv[1];
    for (int i = 2; i + 1 < argc; i += 2) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            if (strcmp(argv[i], rows[k].name) == 0) *rows[k].value = argv[i + 1];
        }
    }
    return argc % 2 == 0;
}

int main(int argc, char **argv) {
    struct suite suite;
    struct tn_diag diag = {0};
    char path[4096];
    if (!parse(argc, argv, &suite)) {
        fprintf(stderr,
            "usage: %s FOLDER [--level L] [--isa I] [--filter TEXT] "
            "[--text no]\n",
            argv[0]);
        return 2;
    }
    struct tn_option isa = {"cpu.isa", suite.isa};
    struct tn_runtime_options options = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = &isa, .n_options = 1};
    snprintf(path, sizeof path, "%s/cases.tsv", suite.folder);
    FILE *table = fopen(path, "r");
    if (!table || tn_runtime_create(&options, &suite.runtime, &diag) != TN_OK) {
        fprintf(stderr, "%s: %s\n", path, table ? diag.message : "cannot be opened");
        if (table) fclose(table);
        return 2;
    }
    try_all(&suite, table);
    fclose(table);
    tn_runtime_destroy(suite.runtime);
    printf("%u passed, %u failed\n", suite.passed, suite.failed);
    return suite.failed || suite.passed == 0;
}
