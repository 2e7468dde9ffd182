/* Ini files, read through iniparser behind a check of the text: files may be hostile, and
 * messages need line numbers, which iniparser does not keep.
 *
 * What is accepted: `[section]`, `key = value`, comments from ; or # on. Section and key
 * names are case-insensitive and come out in lower case. Values may be quoted. A line has
 * at most 1000 bytes and does not continue on the next; a file has at most 1 MiB and 4096
 * keys. A key may stand once in a section. */
#ifndef TENON_INI_H
#define TENON_INI_H

#include "core/base/diag.h"

#include <stddef.h>
#include <stdint.h>

struct tn__ini;

struct tn__ini_entry {
    const char *section; /* "" before the first section */
    const char *key;
    const char *value; /* never NULL */
    uint32_t line;     /* from 1 */
};

/* Errors are TN_INVALID_ARGUMENT with "<path>:<line>: …"; a missing file is TN_NOT_FOUND.
 */
tn_status tn__ini_load(const char *path, struct tn__ini **out, struct tn_diag *diag);
/* The same of a text in memory; `path` is for messages. */
tn_status tn__ini_parse(const char *path, const char *text, uint64_t size,
    struct tn__ini **out, struct tn_diag *diag);
void tn__ini_free(struct tn__ini *ini); /* NULL is fine */

/* Keys in the order of the file. */
uint32_t tn__ini_count(const struct tn__ini *ini);
const struct tn__ini_entry *tn__ini_at(const struct tn__ini *ini, uint32_t i);
/* Value of a key (names in lower case), NULL when it is absent. */
const char *tn__ini_get(const struct tn__ini *ini, const char *section, const char *key);
const char *tn__ini_path(const struct tn__ini *ini);

#endif
