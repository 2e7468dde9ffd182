/* One backend test and the runner that answers it. */
#ifndef TENON_CONFORMANCE_H
#define TENON_CONFORMANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum outcome {
    OUTCOME_UNRUN,
    OUTCOME_PASS,
    OUTCOME_MISMATCH,
    OUTCOME_LOAD,
    OUTCOME_RUN,
    OUTCOME_CRASH,
    OUTCOME_HANG,
    OUTCOME_DATA /* a file of the test could not be read */
};

struct test {
    const char *kind;
    char name[260]; /* folder, or file in light/ */
    enum outcome outcome;
    char message[400];
    bool expected_failure;
    char reason[200];
};

struct options {
    const char *data, *level, *isa, *expected, *result, *filter, *setting;
    const char *expected_too; /* more expected failures, of this way of running alone */
    const char *expected_package; /* … and of the data of Debian's package alone */
    bool update;
};

struct runner;
struct runner *runner_create(const struct options *options);
void runner_destroy(struct runner *runner);
/* Fills outcome and message. */
void runner_run(struct runner *runner, struct test *test);

#endif
