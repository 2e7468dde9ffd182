/* Reads the table of fixtures and their archives. */
#include <stdio.h>

#include "fixture.h"

#include "npy.h"
#include "tensor_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------ */

static bool parse_limits(char *text, struct fixture_row *out) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        if (out->n_limits == FIXTURE_OUTPUTS) return false;
        struct fixture_limit *limit = &out->limits[out->n_limits++];
        limit->exact = strcmp(word, "=") == 0;
        limit->relative = limit->exact ? 0 : strtod(word, NULL);
        if (!limit->exact && !(limit->relative > 0)) return false;
    }
    return out->n_limits > 0;
}

static bool parse_row(char *line, struct fixture_row *out) {
    char *fields[4] = {line};
    for (unsigned i = 1; i < 4; i++) {
        fields[i] = strchr(fields[i - 1], '\t');
        if (!fields[i]) return false;
        *fields[i]++ = '\0';
    }
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%.127s", fields[0]);
    snprintf(out->reason, sizeof out->reason, "%.399s", fields[3]);
    out->wrong_rows = (unsigned)strtoul(fields[2], NULL, 10);
    return parse_limits(fields[1], out);
}

bool fixture_next(FILE *table, struct fixture_row *out) {
    char line[1024];
    while (fgets(line, sizeof line, table)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') continue;
        if (parse_row(line, out)) return true;
        fprintf(stderr, "malformed line: %s\n", line);
        exit(2);
    }
    return false;
}

/* ---- an archive ----------------------------------------------------------------------- */

struct archive {
    const char *path;
    char *data;
    uint64_t size;
};

/* A member that may be absent. */
static tn_status read_optional(const struct archive *archive, const char *name,
    struct tn_value **out, struct tn_diag *diag) {
    struct tn_diag own = {0};
    tn_status status =
        npz_parse(archive->path, archive->data, archive->size, name, out, &own);
    if (status == TN_NOT_FOUND) return TN_OK;
    if (status != TN_OK) *diag = own;
    return status;
}

static tn_status read_numbered(const struct archive *archive, const char *prefix,
    unsigned i, const char *suffix, struct tn_value **out, struct tn_diag *diag) {
    char name[64];
    snprintf(name, sizeof name, "%s_%u%s", prefix, i, suffix);
    return read_optional(archive, name, out, diag);
}

static tn_status read_members(
    const struct archive *archive, struct fixture *out, struct tn_diag *diag) {
    tn_status status = npz_parse(
        archive->path, archive->data, archive->size, "model", &out->model, diag);
    if (status == TN_OK) status = read_optional(archive, "wrong", &out->wrong, diag);
    for (unsigned i = 0; i < FIXTURE_INPUTS && status == TN_OK; i++) {
        status = read_numbered(archive, "in", i, "_keys", &out->input_keys[i], diag);
        if (status == TN_OK)
            status = read_numbered(archive, "in", i, out->input_keys[i] ? "_values" : "",
                &out->inputs[i], diag);
    }
    for (unsigned i = 0; i < FIXTURE_OUTPUTS && status == TN_OK; i++) {
        status = read_numbered(archive, "out", i, "", &out->outputs[i], diag);
        if (status == TN_OK)
            status =
                read_numbered(archive, "out", i, "_keys", &out->output_keys[i], diag);
    }
    return status;
}

tn_status fixture_load(const char *path, struct fixture *out, struct tn_diag *diag) {
    struct archive archive = {.path = path};
    memset(out, 0, sizeof *out);
    tn_status status = file_read(path, &archive.data, &archive.size, diag);
    if (status == TN_OK) status = read_members(&archive, out, diag);
    free(archive.data);
    return status;
}

void fixture_free(struct fixture *fixture) {
    tn_value_release(&fixture->model);
    tn_value_release(&fixture->wrong);
    for (unsigned i = 0; i < FIXTURE_INPUTS; i++) {
        tn_value_release(&fixture->inputs[i]);
        tn_value_release(&fixture->input_keys[i]);
    }
    for (unsigned i = 0; i < FIXTURE_OUTPUTS; i++) {
        tn_value_release(&fixture->outputs[i]);
        tn_value_release(&fixture->output_keys[i]);
    }
}
