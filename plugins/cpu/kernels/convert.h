/* Conversion of runs between element types: all of ONNX's but strings and complex numbers.
 *
 * A run of packed elements (4 and 2 bits) begins at a byte, low bits first; what is left of
 * its last byte is written 0. dst must not overlap src, unless it equals src and the types
 * have one size. All levels give the same bits.
 *
 * Rules. Float to float: nearest, ties to even, subnormals included, and rounded once from
 * f64 too. Float to integer: truncates, saturates, NaN gives 0; to 4 and 2 bits: the low bits
 * of the int32 that this gives (the official tests ask for it). Integer to integer: low
 * bits. To bool: only 0 is false. Beyond the greatest f16, bf16 or f32: infinity; f8: as the
 * `saturate` option says; e2m1 always saturates, and has no NaN: it gives -0. e8m0 takes the
 * magnitude, 0 gives 2^-127, and infinity as `saturate` says. [any thread] */
#ifndef TENON_CPU_CONVERT_H
#define TENON_CPU_CONVERT_H

#include "run_fn.h"
#include "tenon/isa.h"

enum tn_convert_round { TN_CONVERT_UP, TN_CONVERT_DOWN, TN_CONVERT_NEAREST };

struct tn_convert_options {
    int saturate; /* f8, e8m0: to the greatest value; else to NaN, e5m2 to inf */
    enum tn_convert_round round; /* e8m0 */
};

/* Converts n elements. options may be NULL for a row that reads none. */
typedef void tn_convert_fn(
    void *dst, const void *src, size_t n, const struct tn_convert_options *options);

/* Every type widens exactly into one of these, and each of them converts to every type. */
enum tn_convert_wide {
    TN_CONVERT_F32, /* the floats up to 32 bits */
    TN_CONVERT_F64,
    TN_CONVERT_I32, /* bool, the integers up to 16 bits, int32 */
    TN_CONVERT_I64, /* int64, uint32 */
    TN_CONVERT_U64,
    TN_CONVERT_WIDES
};

struct tn_convert_kernels {
    uint8_t wide[TN_ELEM_COUNT];        /* enum tn_convert_wide of a type */
    tn_convert_fn *load[TN_ELEM_COUNT]; /* to its wide type; NULL when it is that type, or
                                            when it has no conversion */
    tn_convert_fn *store[TN_CONVERT_WIDES][TN_ELEM_COUNT]; /* NULL: no conversion */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_convert_kernels_init(struct tn_convert_kernels *kernels, enum tn_isa isa);

/* Whether there is a conversion from one type (TN_ELEM_*) to the other. */
int tn_convert_exists(
    const struct tn_convert_kernels *kernels, int dst_elem, int src_elem);

/* Converts a run of any length, in at most two steps. The conversion must exist. options may
 * be NULL: saturate, round up. */
void tn_convert_run(const struct tn_convert_kernels *kernels, int dst_elem, void *dst,
    int src_elem, const void *src, size_t n, const struct tn_convert_options *options);

#endif
