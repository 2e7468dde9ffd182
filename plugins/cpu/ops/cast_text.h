/* Numbers as text and text as numbers, whatever the process's locale: Cast's string side. */
#ifndef TENON_CPU_CAST_TEXT_H
#define TENON_CPU_CAST_TEXT_H

#include "tenon/op.h"

/* Whether one of the types is string and the other a number that text can stand for. */
int tn__text_castable(int32_t from, int32_t to);
/* Text such as "3.14", "1e5", "NaN", "-INF" (any case) into numbers. */
tn_status tn__text_to_numbers(
    const struct tn_tensor *in, struct tn_tensor *out, struct tn_diag *diag);
/* The shortest text that reads back as the same number; the bytes live until the end of the
 * run. */
tn_status tn__numbers_to_text(
    const struct tn_run *run, const struct tn_tensor *in, struct tn_tensor *out);

#endif
