/* One model of the converters with the library's own answers: see make_fixtures.py. */
#ifndef TENON_FIXTURE_H
#define TENON_FIXTURE_H

#include "tenon/tenon.h"

#include <stdbool.h>

enum { FIXTURE_INPUTS = 8, FIXTURE_OUTPUTS = 4 };

/* How near an output must come. */
struct fixture_limit {
    bool exact; /* the same bits */
    double relative;
};

/* A row of cases.tsv. */
struct fixture_row {
    char name[128], reason[400];
    struct fixture_limit limits[FIXTURE_OUTPUTS];
    unsigned n_limits, wrong_rows;
};

struct fixture {
    struct tn_value *model; /* uint8: the bytes of the file */
    struct tn_value *inputs[FIXTURE_INPUTS], *input_keys[FIXTURE_INPUTS];
    struct tn_value *outputs[FIXTURE_OUTPUTS], *output_keys[FIXTURE_OUTPUTS];
    struct tn_value *wrong; /* bool [rows]: where the file itself is wrong; may be NULL */
};

/* False at the end of the table; a malformed line ends the program. */
bool fixture_next(FILE *table, struct fixture_row *out);

tn_status fixture_load(const char *path, struct fixture *out, struct tn_diag *diag);
void fixture_free(struct fixture *fixture);

/* Compares an output with the library's answer; writes the reason into `why` if it differs. */
bool fixture_same(const struct fixture *fixture, unsigned index,
    struct fixture_limit limit, const struct tn_value_ref *actual, char *why,
    size_t size);

#endif
