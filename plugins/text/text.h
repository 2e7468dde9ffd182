/* What the whole plugin shares: its state, one per host, and its operator families. */
#ifndef TENON_TEXT_H
#define TENON_TEXT_H

#include "tenon/helper/args.h"
#include "tenon/helper/attrs.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/family.h"
#include "tenon/helper/kernel.h"
#include "tenon/helper/parallel.h"
#include "tenon/helper/rows.h"
#include "tenon/helper/shape.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

/* The domain of the operators that converters add to ONNX's. */
#define TN_CONTRIB_DOMAIN "com.microsoft"

struct tn__text {
    struct tn_tables tables; /* of all families; first, as tn_tables_ops wants */
    const struct tn_host *host;
};

/* clang-format off */
/* Operator families: one file each, which ends in TN_FAMILY(name). */
#define TN_TEXT_FAMILIES(X) \
    X(murmur_hash) \
    X(regex_full_match) \
    X(string_normalizer) \
    X(string_pieces) \
    X(tfidf) \
    X(tokenizer)
TN_TEXT_FAMILIES(TN_FAMILY_DECLARE)
/* clang-format on */

#endif
