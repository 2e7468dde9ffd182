/* Recording: see profile.h. Totals are kept for every unit; events of single calls are
 * kept too, up to a bound, with the shapes they ran on. */
#include "core/exec/profile.h"

#include "core/base/alloc.h"
#include "core/os/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXPLAINED = 192 }; /* bytes of a kernel's explanation */
enum { MOST_EVENTS = 1 << 20, MOST_SHAPE_WORDS = 1 << 24 };

struct event {
    const struct tn__unit *unit; /* NULL: a whole run */
    uint64_t start_ns, end_ns;
    uint64_t shapes; /* index of the first word */
};

struct total {
    const struct tn__unit *unit;
    uint64_t calls, ns;
    double flops, bytes;
    uint64_t shapes; /* of the last call whose shapes are kept: 1 + first word; 0: none */
    char how[EXPLAINED]; /* what the kernel says of its last call, "" when nothing */
};

/* Shapes are words: for each input, then each output: dtype, rank, dims; a dtype of 0
 * says that there is none. */
struct tn__profile {
    const struct tn__plan *plan;
    struct total *totals; /* by unit id */
    struct event *events;
    uint64_t n_events, cap_events;
    int64_t *words;
    uint64_t n_words, cap_words;
    uint64_t n_dropped, n_runs, run_ns;
};

tn_status tn__profile_create(
    const struct tn__plan *plan, struct tn__profile **out, struct tn_diag *diag) {
    struct tn__profile *profile = tn__alloc_zero(sizeof *profile, 0);
    struct total *totals = tn__alloc_zero(plan->n_units * sizeof *totals, 0);
    if (!profile || !totals) {
        tn__free(profile);
        tn__free(totals);
        return tn__fail_memory(diag, "a profile", plan->n_units * sizeof *totals);
    }
    profile->plan = plan;
    profile->totals = totals;
    *out = profile;
    return TN_OK;
}

void tn__profile_destroy(struct tn__profile *profile) {
    if (!profile) return;
    tn__free(profile->totals);
    tn__free(profile->events);
    tn__free(profile->words);
    tn__free(profile);
}

uint64_t tn__profile_unit_ns(const struct tn__profile *profile, uint32_t unit) {
    return profile->totals[unit].ns;
}

uint64_t tn__profile_bytes(const struct tn__profile *profile) {
    return profile
               ? profile->cap_events * sizeof *profile->events + profile->cap_words * 8
               : 0;
}

/* Doubles an array; false at the bound or when there is no memory. */
static bool reserve(
    void **items, uint64_t *cap, uint64_t need, uint64_t size, uint64_t most) {
    if (need <= *cap) return true;
    if (need > most) return false;
    uint64_t larger = *cap ? *cap * 2 : 1024;
    while (larger < need)
        larger *= 2;
    void *block = tn__alloc(larger * size, 0);
    if (!block) return false;
    if (*cap) memcpy(block, *items, *cap * size);
    tn__free(*items);
    *items = block;
    *cap = larger;
    return true;
}

static uint64_t count_words(const struct tn_value_ref *refs, uint32_t n) {
    uint64_t words = 0;
    for (uint32_t i = 0; i < n; i++)
        words += 2 + (refs[i].kind == TN_KIND_TENSOR ? refs[i].as.tensor->rank : 0);
    return words;
}

static void add_shapes(
    struct tn__profile *profile, const struct tn_value_ref *refs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool tensor = refs[i].kind == TN_KIND_TENSOR && refs[i].as.tensor->rank < 1000;
        const struct tn_tensor *t = tensor ? refs[i].as.tensor : NULL;
        profile->words[profile->n_words++] = t ? t->dtype : 0;
        profile->words[profile->n_words++] = t ? t->rank : 0;
        for (uint32_t d = 0; t && d < t->rank; d++)
            profile->words[profile->n_words++] = t->dims[d];
    }
}

static bool add_event(struct tn__profile *profile, const struct tn__unit *unit,
    uint64_t start_ns, uint64_t end_ns) {
    if (!reserve((void **)&profile->events, &profile->cap_events, profile->n_events + 1,
            sizeof *profile->events, MOST_EVENTS)) {
        profile->n_dropped++;
        return false;
    }
    profile->events[profile->n_events++] =
        (struct event){unit, start_ns, end_ns, profile->n_words};
    return true;
}

void tn__profile_step(struct tn__profile *profile, const struct tn__step_info *info,
    const struct tn__step *step, uint64_t start_ns, uint64_t end_ns) {
    const struct tn__unit *unit = info->unit;
    const struct tn_run_args *args = &step->args;
    struct total *total = &profile->totals[unit->id];
    total->unit = unit;
    total->calls++;
    total->ns += end_ns - start_ns;
    if (unit->def && TN_HAS(unit->def, cost)) {
        struct tn_cost cost = {0, 0};
        unit->def->cost(unit->kernel, args, &cost);
        total->flops += cost.flops;
        total->bytes += cost.bytes;
    }
    if (unit->def && TN_HAS(unit->def, explain))
        unit->def->explain(unit->kernel, args, total->how, sizeof total->how);
    uint64_t words = count_words(args->inputs, args->n_inputs) +
                     count_words(args->outputs, args->n_outputs);
    if (!reserve((void **)&profile->words, &profile->cap_words, profile->n_words + words,
            sizeof *profile->words, MOST_SHAPE_WORDS)) {
        profile->n_dropped++;
        return;
    }
    if (!add_event(profile, unit, start_ns, end_ns)) return;
    total->shapes = profile->n_words + 1;
    add_shapes(profile, args->inputs, args->n_inputs);
    add_shapes(profile, args->outputs, args->n_outputs);
}

void tn__profile_run(struct tn__profile *profile, uint64_t start_ns, uint64_t end_ns) {
    profile->n_runs++;
    profile->run_ns += end_ns - start_ns;
    add_event(profile, NULL, start_ns, end_ns);
}

/* ---- table ---------------------------------------------------------------------------- */

/* "1x3x224x224 64x3x7x7" of n values; returns the word behind them. */
static uint64_t print_shapes(
    const struct tn__profile *profile, uint64_t at, uint32_t n, struct tn_text *out) {
    for (uint32_t i = 0; i < n; i++) {
        int64_t dtype = profile->words[at++], rank = profile->words[at++];
        if (i) tn__text_puts(out, " ");
        if (dtype == 0) tn__text_puts(out, "-");
        if (dtype != 0 && rank == 0) tn__text_puts(out, "scalar");
        for (int64_t d = 0; d < rank; d++)
            tn__text_printf(out, d ? "x%lld" : "%lld", (long long)profile->words[at++]);
    }
    return at;
}

static int slower_first(const void *a, const void *b) {
    const struct total *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return (x->unit ? x->unit->id : 0) < (y->unit ? y->unit->id : 0) ? -1 : 1;
}

/* One row of either table. */
static void print_row(const struct total *total, const char *name, uint64_t all_ns,
    uint32_t format, bool first, struct tn_text *out) {
    double share = all_ns ? 100.0 * (double)total->ns / (double)all_ns : 0;
    double rate = total->ns ? total->flops / (double)total->ns : 0;
    if (format == TN_FORMAT_JSON) {
        tn__text_puts(out, first ? "\n  {\"name\": " : ",\n  {\"name\": ");
        tn__text_json(out, name);
        tn__text_printf(out,
            ", \"calls\": %llu, \"total_us\": %.3f, \"percent\": %.2f, \"gflops\": %.2f",
            (unsigned long long)total->calls, (double)total->ns / 1e3, share, rate);
    } else {
        tn__text_printf(out, "%10.3f %6.2f %8llu %10.3f %8.1f  %-32s",
            (double)total->ns / 1e6, share, (unsigned long long)total->calls,
            (double)total->ns / 1e3 / (double)total->calls, rate, name);
    }
}

static void print_nodes(const struct tn__profile *profile, struct total *rows, uint32_t n,
    uint64_t all_ns, uint32_t format, struct tn_text *out) {
    bool json = format == TN_FORMAT_JSON;
    for (uint32_t i = 0; i < n; i++) {
        const struct tn__unit *unit = rows[i].unit;
        char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
        tn__node_label(tn__unit_node(unit), label, sizeof label);
        tn__node_op_label(tn__unit_node(unit), op, sizeof op);
        print_row(&rows[i], label, all_ns, format, i == 0, out);
        if (json) {
            tn__text_puts(out, ", \"op\": ");
            tn__text_json(out, op);
            tn__text_puts(out, ", \"kernel\": ");
            tn__text_json(out, tn__unit_kernel_name(unit));
            tn__text_puts(out, ", \"provider\": ");
            tn__text_json(out, profile->plan->providers[unit->provider].id);
            tn__text_puts(out, ", \"shapes\": \"");
        } else {
            tn__text_printf(out, " %-22s %-18s ", op, tn__unit_kernel_name(unit));
        }
        if (rows[i].shapes) {
            uint64_t at = print_shapes(profile, rows[i].shapes - 1, unit->n_inputs, out);
            tn__text_puts(out, " -> ");
            print_shapes(profile, at, unit->n_outputs, out);
        }
        if (json) tn__text_puts(out, "\"");
        if (rows[i].how[0]) {
            tn__text_puts(out, json ? ", \"explain\": " : "\n            ");
            if (json)
                tn__text_json(out, rows[i].how);
            else
                tn__text_puts(out, rows[i].how);
        }
        tn__text_puts(out, json ? "}" : "\n");
    }
}

/* Sums of the rows of one operator and version. */
static void print_operators(const struct total *rows, uint32_t n, uint64_t all_ns,
    uint32_t format, struct tn_text *out) {
    struct total *sums = tn__alloc_zero((uint64_t)n * sizeof *sums, 0);
    uint32_t n_sums = 0;
    for (uint32_t i = 0; sums && i < n; i++) {
        char op[TN_DIAG_NAME_SIZE], other[TN_DIAG_NAME_SIZE];
        tn__node_op_label(tn__unit_node(rows[i].unit), op, sizeof op);
        uint32_t k = 0;
        for (; k < n_sums; k++) {
            tn__node_op_label(tn__unit_node(sums[k].unit), other, sizeof other);
            if (strcmp(op, other) == 0) break;
        }
        if (k == n_sums) sums[n_sums++].unit = rows[i].unit;
        sums[k].calls += rows[i].calls;
        sums[k].ns += rows[i].ns;
        sums[k].flops += rows[i].flops;
    }
    if (sums) qsort(sums, n_sums, sizeof *sums, slower_first);
    for (uint32_t k = 0; k < n_sums; k++) {
        char op[TN_DIAG_NAME_SIZE];
        tn__node_op_label(tn__unit_node(sums[k].unit), op, sizeof op);
        print_row(&sums[k], op, all_ns, format, k == 0, out);
        tn__text_puts(out, format == TN_FORMAT_JSON ? "}" : "\n");
    }
    if (!sums) out->failed = true;
    tn__free(sums);
}

static const char heading[] = "  total ms      %    calls    us/call  GFLOP/s  ";

void tn__profile_table(
    const struct tn__profile *profile, uint32_t format, struct tn_text *out) {
    bool json = format == TN_FORMAT_JSON;
    uint32_t n_units = profile ? profile->plan->n_units : 0, n = 0;
    uint64_t all_ns = 0;
    struct total *rows = tn__alloc((uint64_t)n_units * sizeof *rows, 0);
    if (!rows) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n_units; i++) {
        if (profile->totals[i].calls == 0) continue;
        rows[n++] = profile->totals[i];
        all_ns += profile->totals[i].ns;
    }
    if (n) qsort(rows, n, sizeof *rows, slower_first);
    uint64_t n_runs = profile ? profile->n_runs : 0;
    double run_us = n_runs ? (double)profile->run_ns / 1e3 / (double)n_runs : 0;
    tn__text_printf(out,
        json ? "{\"runs\": %llu, \"us_per_run\": %.3f,\n \"nodes\": ["
             : "%llu runs, %.3f us each\n\n",
        (unsigned long long)n_runs, run_us);
    if (!json)
        tn__text_printf(
            out, "%s%-32s %-22s %-18s shapes\n", heading, "node", "operator", "kernel");
    if (n) print_nodes(profile, rows, n, all_ns, format, out);
    tn__text_puts(out, json ? "\n ],\n \"operators\": [" : "\n");
    if (!json) tn__text_printf(out, "%soperator\n", heading);
    if (n) print_operators(rows, n, all_ns, format, out);
    if (json) tn__text_puts(out, "\n ]}\n");
    tn__free(rows);
}

/* ---- trace ---------------------------------------------------------------------------- */

/* [{"float":[1,3,224,224]},{"int64":[2]}] */
static uint64_t print_typed_shapes(
    const struct tn__profile *profile, uint64_t at, uint32_t n, struct tn_text *out) {
    tn__text_puts(out, "[");
    for (uint32_t i = 0, shown = 0; i < n; i++) {
        int64_t dtype = profile->words[at++], rank = profile->words[at++];
        if (dtype != 0) {
            tn__text_printf(
                out, "%s{\"%s\":[", shown++ ? "," : "", tn_dtype_name((int32_t)dtype));
            for (int64_t d = 0; d < rank; d++)
                tn__text_printf(out, d ? ",%lld" : "%lld",
                    (long long)profile->words[at + (uint64_t)d]);
            tn__text_puts(out, "]}");
        }
        at += (uint64_t)rank;
    }
    tn__text_puts(out, "]");
    return at;
}

struct tracing {
    struct tn_text *out;
    uint64_t origin;
    int pid;
    long tid;
    bool first;
};

static void begin_event(struct tracing *t, const char *category, const char *name,
    const char *suffix, uint64_t start_ns, uint64_t end_ns) {
    struct tn_text full = {0};
    tn__text_printf(&full, "%s%s", name, suffix);
    tn__text_printf(t->out,
        "%s{\"cat\":\"%s\",\"pid\":%d,\"tid\":%ld,\"dur\":%llu,\"ts\":%llu,\"ph\":\"X\","
        "\"name\":",
        t->first ? "" : ",\n", category, t->pid, t->tid,
        (unsigned long long)((end_ns - start_ns) / 1000),
        (unsigned long long)((start_ns - t->origin) / 1000));
    tn__text_json(t->out, full.data ? full.data : "");
    tn__text_puts(t->out, ",\"args\":{");
    t->out->failed = t->out->failed || full.failed;
    tn__text_free(&full);
    t->first = false;
}

static void trace_step(
    struct tracing *t, const struct tn__profile *profile, const struct event *event) {
    const struct tn__unit *unit = event->unit;
    const struct tn_node *node = &tn__unit_node(unit)->view;
    char label[TN_DIAG_NAME_SIZE];
    const char *name = node->name && node->name[0]
                           ? node->name
                           : tn__node_label(tn__unit_node(unit), label, sizeof label);
    begin_event(t, "Node", name, "_kernel_time", event->start_ns, event->end_ns);
    tn__text_puts(t->out, "\"op_name\":");
    tn__text_json(t->out, node->op_type);
    tn__text_puts(t->out, ",\"provider\":");
    tn__text_json(t->out, profile->plan->providers[unit->provider].id);
    tn__text_puts(t->out, ",\"kernel\":");
    tn__text_json(t->out, tn__unit_kernel_name(unit));
    tn__text_printf(
        t->out, ",\"node_index\":\"%u\",\"input_type_shape\":", (unsigned)unit->id);
    uint64_t at = print_typed_shapes(profile, event->shapes, unit->n_inputs, t->out);
    tn__text_puts(t->out, ",\"output_type_shape\":");
    print_typed_shapes(profile, at, unit->n_outputs, t->out);
    tn__text_puts(t->out, "}}");
}

static void trace_session(
    struct tracing *t, const char *name, uint64_t start_ns, uint64_t end_ns) {
    begin_event(t, "Session", name, "", start_ns, end_ns);
    tn__text_puts(t->out, "}}");
}

void tn__profile_trace(const struct tn__profile *profile,
    const struct tn__session_times *times, struct tn_text *out) {
    struct tracing t = {out, times->origin_ns, (int)getpid(), syscall(SYS_gettid), true};
    tn__text_puts(out, "[");
    trace_session(&t, "model_loading", times->origin_ns, times->loaded_ns);
    trace_session(&t, "session_initialization", times->loaded_ns, times->ready_ns);
    for (uint64_t i = 0; profile && i < profile->n_events; i++) {
        const struct event *event = &profile->events[i];
        if (event->unit)
            trace_step(&t, profile, event);
        else
            trace_session(&t, "model_run", event->start_ns, event->end_ns);
    }
    tn__text_puts(out, "]\n");
}
