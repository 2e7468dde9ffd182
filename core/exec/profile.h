/* Recorded runs: a table of nodes, and events for Chrome's trace viewer in the schema of
 * ONNX Runtime's profiles. */
#ifndef TENON_PROFILE_H
#define TENON_PROFILE_H

#include "core/base/text.h"
#include "core/exec/exec.h"

/* Moments of a session that a trace shows. */
struct tn__session_times {
    uint64_t origin_ns, loaded_ns, ready_ns; /* on the monotonic clock */
};

tn_status tn__profile_create(
    const struct tn__plan *plan, struct tn__profile **out, struct tn_diag *diag);
void tn__profile_destroy(struct tn__profile *profile);
/* One call of a step. When memory runs out, events are dropped and counted. */
void tn__profile_step(struct tn__profile *profile, const struct tn__step_info *info,
    const struct tn__step *step, uint64_t start_ns, uint64_t end_ns);
/* One whole run. */
void tn__profile_run(struct tn__profile *profile, uint64_t start_ns, uint64_t end_ns);
/* TN_REPORT_PROFILE and TN_REPORT_TRACE; profile may be NULL (nothing recorded). */
void tn__profile_table(
    const struct tn__profile *profile, uint32_t format, struct tn_text *out);
void tn__profile_trace(const struct tn__profile *profile,
    const struct tn__session_times *times, struct tn_text *out);
/* Nanoseconds of all calls of a unit. */
uint64_t tn__profile_unit_ns(const struct tn__profile *profile, uint32_t unit);
uint64_t tn__profile_bytes(const struct tn__profile *profile);

#endif
