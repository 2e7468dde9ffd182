/* The descriptor, the entry and the note of a plugin in one line:
 *
 *     TN_PLUGIN("com.example.cube", "1.0.0", (&cube), (&cube_kernel));
 *
 * takes the id (reverse-DNS, the library's name without .so), the version, and in brackets
 * the addresses of its operators (struct tn_op_def) and kernels (struct tn_kernel_def); ()
 * is none. TN_PLUGIN_FULL takes everything that a descriptor has. C11 and C++17.
 *
 * Includes the other helpers that authors of operators use. */
#ifndef TENON_HELPER_PLUGIN_H
#define TENON_HELPER_PLUGIN_H

#include "tenon/helper/args.h"
#include "tenon/helper/attrs.h"
#include "tenon/helper/broadcast.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/kernel.h"
#include "tenon/helper/parallel.h"
#include "tenon/helper/rows.h"
#include "tenon/helper/shape.h"
#include "tenon/op.h"
#include "tenon/provider.h"

#define TN_PLUGIN(id, version, ops, kernels)                                             \
    TN_PLUGIN_FULL(id, version, TN_ABI_MINOR, ops, kernels, (), NULL, NULL, NULL)

/* host_minor: the oldest ABI minor of a host that has all the plugin uses. init, shutdown
 * and extension are functions as in struct tn_plugin, or NULL. */
/* clang-format off */
#define TN_PLUGIN_FULL( \
    id, version, host_minor, ops, kernels, providers, init, shutdown, extension) \
    TN_PLUGIN_TABLE(tn_op_def, ops) \
    TN_PLUGIN_TABLE(tn_kernel_def, kernels) \
    TN_PLUGIN_TABLE(tn_provider_def, providers) \
    _Pragma("GCC diagnostic push") /* fields that were appended later are 0 */ \
    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
    static const struct tn_plugin tn_plugin_descriptor_ = {TN_PLUGIN_SIZE, 0, \
        TN_ABI_MINOR, host_minor, id, id, version, NULL, NULL, NULL, \
        TN_SANITIZER_CURRENT, \
        (TN_PLUGIN_N(tn_op_def) ? TN_PLUGIN_HAS_OPS : 0u) | \
            (TN_PLUGIN_N(tn_kernel_def) ? TN_PLUGIN_HAS_KERNELS : 0u) | \
            (TN_PLUGIN_N(tn_provider_def) ? TN_PLUGIN_HAS_PROVIDERS : 0u), \
        init, shutdown, tn_op_def_table_, tn_kernel_def_table_, tn_provider_def_table_, \
        extension}; \
    _Pragma("GCC diagnostic pop") \
    TN_DEFINE_PLUGIN_FOR(tn_plugin_descriptor_, id, host_minor)
/* clang-format on */

/* Rows of one type and the function that hands them to the host. A NULL stands in front, so
 * that the list may be empty. */
#define TN_PLUGIN_TABLE(type, list)                                                      \
    static const struct type *const type##_rows_[] = {NULL, TN_PLUGIN_LIST list};        \
    static tn_status type##_table_(                                                      \
        void *state, const struct type *const **out_table, uint32_t *out_count) {        \
        (void)state;                                                                     \
        *out_table = type##_rows_ + 1;                                                   \
        *out_count = TN_PLUGIN_N(type);                                                  \
        return TN_OK;                                                                    \
    }
#define TN_PLUGIN_LIST(...) __VA_ARGS__
#define TN_PLUGIN_N(type) ((uint32_t)(sizeof type##_rows_ / sizeof type##_rows_[0]) - 1u)

#endif
