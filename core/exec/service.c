/* What a running kernel may ask of the host: memory for outputs and scratch, and whether
 * to go on. Kernels are trusted code, but their mistakes must not corrupt the run: every
 * argument is checked. */
#include "core/base/checked.h"
#include "core/exec/exec.h"
#include "core/exec/value_pack.h"

#include <string.h>

static struct tn__step_info *info_of(const struct tn_run_args *args) {
    return args->step;
}

static tn_status lie(const struct tn__step_info *info, const char *what, uint32_t o) {
    return tn_fail(info->frame->exec->diag, TN_PLUGIN, "kernel %s %s (output %u)",
        tn__unit_kernel_name(info->unit), what, (unsigned)o);
}

static tn_status check_output(
    const struct tn__step_info *info, uint32_t o, uint32_t kind, int32_t dtype) {
    const struct tn__unit *unit = info->unit;
    if (o >= unit->n_outputs)
        return lie(info, "fills an output that it does not have", o);
    if (unit->outputs[o] == TN_NO_ID) return lie(info, "fills an omitted output", o);
    tn_value_id v = tn__original(info->frame->program, unit->outputs[o]);
    const struct tn_type *known = &tn__value_at(unit->graph, v)->type;
    if (known->kind != TN_KIND_ABSENT && known->kind != kind)
        return lie(info, "makes a value of another kind than it declared", o);
    if (kind == TN_KIND_TENSOR && tn_dtype_bits(dtype) == 0)
        return lie(info, "makes a tensor of an unknown element type", o);
    if (kind == TN_KIND_TENSOR && known->kind == TN_KIND_TENSOR &&
        known->dtype != TN_UNDEFINED && known->dtype != dtype)
        return lie(info, "makes a tensor of another type than it declared", o);
    return TN_OK;
}

static bool same_shape(const struct tn_tensor *t, const int64_t *dims, uint32_t rank) {
    return t->rank == rank &&
           (rank == 0 || memcmp(t->dims, dims, rank * sizeof *dims) == 0);
}

static tn_status output_alloc(const struct tn_run *run, const struct tn_run_args *args,
    uint32_t o, int32_t dtype, const int64_t *dims, uint32_t rank) {
    (void)run;
    struct tn__step_info *info = info_of(args);
    TN_TRY(check_output(info, o, TN_KIND_TENSOR, dtype));
    tn_value_id v = info->unit->outputs[o];
    const struct tn_tensor *now = &info->set->tensors[v];
    if (now->data) {
        if (same_shape(now, dims, rank)) return TN_OK;
        return lie(info, "asks for another shape than was inferred or asked before", o);
    }
    TN_TRY(tn__dynamic_alloc(info, v, dtype, dims, rank, info->frame->exec->diag));
    args->outputs[o] = info->set->refs[v];
    return TN_OK;
}

/* String elements of `src` with their bytes in memory of the run. */
static tn_status copy_strings(
    struct tn__exec *exec, const struct tn_tensor *src, struct tn_string *dst) {
    const struct tn_string *from = src->data;
    for (uint64_t i = 0; i < src->size / sizeof *from; i++) {
        char *bytes = tn__bump_alloc(&exec->bump, from[i].size, 1);
        if (!bytes) return tn__fail_memory(exec->diag, "string elements", from[i].size);
        if (from[i].size) memcpy(bytes, from[i].data, from[i].size);
        dst[i] = (struct tn_string){bytes, from[i].size};
    }
    return TN_OK;
}

static tn_status set_tensor(const struct tn_run *run, const struct tn_run_args *args,
    uint32_t o, const struct tn_tensor *src) {
    struct tn__step_info *info = info_of(args);
    struct tn__exec *exec = info->frame->exec;
    uint64_t bytes;
    if (src->strides) return lie(info, "passes a strided tensor as an output", o);
    TN_TRY(output_alloc(run, args, o, src->dtype, src->dims, src->rank));
    struct tn_tensor *dst = args->outputs[o].as.tensor;
    if (!tn_tensor_bytes(src->dtype, src->dims, src->rank, &bytes) || src->size < bytes)
        return lie(info, "passes a tensor smaller than its shape", o);
    if (src->dtype == TN_STRING) return copy_strings(exec, src, dst->data);
    if (bytes) memmove(dst->data, src->data, bytes);
    return TN_OK;
}

static tn_status output_set(const struct tn_run *run, const struct tn_run_args *args,
    uint32_t o, const struct tn_value_ref *value) {
    struct tn__step_info *info = info_of(args);
    struct tn__exec *exec = info->frame->exec;
    if (!value) return lie(info, "sets no value", o);
    TN_TRY(check_output(info, o, value->kind,
        value->kind == TN_KIND_TENSOR ? value->as.tensor->dtype : 0));
    if (value->kind == TN_KIND_TENSOR) return set_tensor(run, args, o, value->as.tensor);
    if (!info->dynamic) return lie(info, "sets another value than a tensor", o);
    uint64_t bytes;
    TN_TRY(tn__value_bytes(value, &bytes, exec->diag));
    struct tn__set *set = info->set;
    tn_value_id v = info->unit->outputs[o];
    struct tn__block *block;
    TN_TRY(tn__block_get(&exec->recycler, bytes, &block, exec->diag));
    tn__value_pack(value, tn__block_data(block), &set->refs[v]);
    tn__block_put(&exec->recycler, set->blocks[v]);
    set->blocks[v] = block;
    set->types[v].kind = value->kind;
    args->outputs[o] = set->refs[v];
    return TN_OK;
}

static void *alloc(const struct tn_run *run, uint64_t size, uint64_t align) {
    struct tn__frame *frame = run->self;
    return tn__bump_alloc(&frame->exec->bump, size, align);
}

/* ---- interruptible loops --------------------------------------------------------------- */

struct guarded_loop {
    const struct tn__exec *exec;
    int64_t grain;
    tn_parallel_fn fn;
    void *arg;
    _Atomic tn_status status;
};

/* One piece, cut finer so that a loop on one thread asks often too. */
static void run_guarded(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    enum { TURNS = 64 };
    struct guarded_loop *loop = arg;
    int64_t grains = (end - begin) / loop->grain / TURNS + 1;
    while (begin < end) {
        tn_status status = tn__exec_interrupted(loop->exec);
        if (status != TN_OK) {
            atomic_store_explicit(&loop->status, status, memory_order_relaxed);
            return;
        }
        int64_t left = (end - begin) / loop->grain;
        int64_t stop = left <= grains ? end : begin + grains * loop->grain;
        loop->fn(loop->arg, begin, stop, worker);
        begin = stop;
    }
}

static tn_status parallel_for(
    const struct tn_run *run, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    const struct tn__frame *frame = run->self;
    struct guarded_loop loop = {
        .exec = frame->exec, .grain = grain < 1 ? 1 : grain, .fn = fn, .arg = arg};
    run->host->parallel_for(run->host->self, n, loop.grain, run_guarded, &loop);
    return atomic_load_explicit(&loop.status, memory_order_relaxed);
}

static tn_status interrupted(const struct tn_run *run) {
    const struct tn__frame *frame = run->self;
    return tn__exec_interrupted(frame->exec);
}

void tn__run_fill(
    struct tn__frame *frame, struct tn_run *run, const struct tn_host *host) {
    *run = (struct tn_run){.struct_size = TN_RUN_SIZE,
        .self = frame,
        .host = host,
        .output_alloc = output_alloc,
        .output_set = output_set,
        .alloc = alloc,
        .subgraph_run = tn__subgraph_run,
        .interrupted = interrupted,
        .parallel_for = parallel_for};
}
