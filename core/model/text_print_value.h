/* Names, types and tensors as the text format writes them. */
#ifndef TENON_TEXT_PRINT_VALUE_H
#define TENON_TEXT_PRINT_VALUE_H

#include "core/base/text.h"
#include "core/graph/graph.h"

struct tn__printer {
    struct tn_text *out;
    struct tn__symbols *symbols;
    uint64_t
        max_elements; /* larger tensors are written {...}, which does not read back */
};

/* A name, in quotes when it is no plain identifier. */
void tn__print_name(struct tn__printer *p, const char *name);
void tn__print_quoted(struct tn__printer *p, const char *text, uint64_t size);
/* The shortest number that reads back, always with a point or an exponent. */
void tn__print_float(struct tn__printer *p, float value);
/* float[N,3], seq(map(int64, float)) … */
void tn__print_type(struct tn__printer *p, const struct tn_type *type);
/* float[2], of a tensor; no brackets for a scalar. */
void tn__print_tensor_type(struct tn__printer *p, const struct tn_tensor *tensor);
/* {1.5, 2.0} */
void tn__print_data(struct tn__printer *p, const struct tn_tensor *tensor);
/* sparse_tensor(float[3,4]) [2, 5] {1.5, 2.0} */
void tn__print_sparse(struct tn__printer *p, const struct tn_sparse *sparse);

#endif
