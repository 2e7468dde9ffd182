/* Lower and upper case by Unicode's full mappings, whatever the locale.
 *
 * A letter may become several (ß is SS in upper case, İ is i with a dot above in lower
 * case); a capital sigma that ends a word becomes ς. No rule of a single language (Turkish,
 * Lithuanian) applies. Bytes that are no UTF-8 stay as they are. */
#ifndef TENON_TEXT_CASING_H
#define TENON_TEXT_CASING_H

#include "tenon/types.h"

enum tn__case { TN_CASE_KEEP, TN_CASE_LOWER, TN_CASE_UPPER };

/* No text grows more than this many times. */
#define TN_CASE_GROWTH 3

/* Writes the text in this case into out, which holds TN_CASE_GROWTH times its bytes. */
struct tn_string tn__change_case(enum tn__case change, struct tn_string text, char *out);

#endif
