/* Values of any kind as text for people and as JSON. */
#ifndef TENON_VALUE_PRINT_H
#define TENON_VALUE_PRINT_H

#include "tenon/types.h"

#include <stdio.h>

/* "float[3,4]", "map of 3 int64 to float", "seq of 2 maps". */
void value_print_type(FILE *to, const struct tn_value_ref *value);
/* The first few elements or items, on one line or some. */
void value_print_items(FILE *to, const struct tn_value_ref *value);
/* Members of a JSON object, without its braces: "type", "dims" of a tensor, and "data"
 * unless `bare`. A map is an object, its keys as strings. */
void value_print_json(FILE *to, const struct tn_value_ref *value, int bare);
/* One string of bytes, quoted and escaped. */
void value_print_json_string(FILE *to, const char *data, uint64_t size);

#endif
