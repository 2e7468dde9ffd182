/* A fake NPU: memory of its own behind addresses that no processor can follow, static
 * shapes only, refusals with reasons, streams that do nothing until they are waited for,
 * context binaries, and a failure on cue at any call. Options of [provider:fake.npu]:
 *
 *     mode = float | int8      element types
 *     refuse = Relu,Add        operators to decline
 *     group = one | each       all claimed nodes are one group, or one each
 *     fail = compile:2         the second call of compile fails
 *     streams = 1              asynchronous
 *     runs = 1                 most runs at one time
 *     ns, launch_ns            estimates
 *     sdk = 1.0                version of the made-up vendor library
 *     hang = 1                 a run ends only when it is interrupted
 *
 * "fake.npu.owned" is the same for which every call must come from one thread. */
#include "npu_program.h"

#include "tenon/helper/diag.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE = 7, ALIGN = 256, MOST_BLOCKS = 256, TAG = 0x7e };

struct block {
    char *real;
    uint64_t base, size;
};

struct npu {
    const struct tn_host *host;
    const char *refuse, *fail;
    int int8, each, streams, hang;
    double ns, launch_ns;
    struct tn_provider_limits limits;
    struct tn_context_record record;
    pthread_mutex_t lock;
    struct block blocks[MOST_BLOCKS];
    uint64_t next_base;
    uint32_t n_calls;        /* of the call that fails on cue */
    _Atomic uint32_t n_live; /* groups, streams and blocks that exist */
    _Atomic uint32_t n_running;
    int owned;
    pthread_t owner;
};

/* ---- cues ----------------------------------------------------------------------------- */

/* Fails when it is this call's turn. */
static tn_status cue(struct npu *npu, const char *call, struct tn_diag *diag) {
    if (npu->owned && !pthread_equal(npu->owner, pthread_self()))
        return tn_fail(diag, TN_INTERNAL, "%s on another thread than the owner's", call);
    size_t n = strlen(call);
    if (!npu->fail || strncmp(npu->fail, call, n) != 0 ||
        (npu->fail[n] != '\0' && npu->fail[n] != ':'))
        return TN_OK;
    uint32_t turn = npu->fail[n] == ':' ? (uint32_t)atoi(npu->fail + n + 1) : 1;
    pthread_mutex_lock(&npu->lock);
    uint32_t now = ++npu->n_calls;
    pthread_mutex_unlock(&npu->lock);
    if (now != turn) return TN_OK;
    return tn_fail(diag, TN_PLUGIN, "the fake NPU fails on cue at %s", call);
}

static int has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0')) return 1;
    }
    return 0;
}

/* ---- life ----------------------------------------------------------------------------- */

static void list_devices(void *plugin_state,
    void (*emit)(void *arg, const struct tn_device *device), void *arg) {
    (void)plugin_state;
    const struct tn_device good = {.struct_size = TN_DEVICE_SIZE,
        .kind = TN_DEVICE_NPU,
        .name = "fake NPU",
        .arch = "fake-1",
        .driver = "1.0",
        .memory = 1 << 24,
        .vendor = "Tenon's tests",
        .sdk = "1.0"};
    const struct tn_device old = {.struct_size = TN_DEVICE_SIZE,
        .kind = TN_DEVICE_NPU,
        .availability = TN_DEVICE_DRIVER_TOO_OLD,
        .name = "older fake NPU",
        .arch = "fake-0",
        .driver = "0.9",
        .detail = "driver 0.9 is older than 1.0"};
    emit(arg, &good);
    emit(arg, &old);
}

static tn_status read_option(
    struct npu *npu, const char *key, const char *value, struct tn_diag *diag) {
    if (strcmp(key, "mode") == 0)
        npu->int8 = strcmp(value, "int8") == 0;
    else if (strcmp(key, "refuse") == 0)
        npu->refuse = value;
    else if (strcmp(key, "fail") == 0)
        npu->fail = value;
    else if (strcmp(key, "group") == 0)
        npu->each = strcmp(value, "each") == 0;
    else if (strcmp(key, "streams") == 0)
        npu->streams = atoi(value);
    else if (strcmp(key, "hang") == 0)
        npu->hang = atoi(value);
    else if (strcmp(key, "runs") == 0)
        npu->limits.max_runs = (uint32_t)atoi(value);
    else if (strcmp(key, "ns") == 0)
        npu->ns = atof(value);
    else if (strcmp(key, "launch_ns") == 0)
        npu->launch_ns = atof(value);
    else if (strcmp(key, "sdk") == 0)
        npu->record.sdk = value;
    else
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "provider 'fake.npu' has no option '%s'", key);
    return TN_OK;
}

static tn_status create_any(const struct tn_host *host, const char *const *options,
    uint32_t n_options, int owned, void **out_instance, struct tn_diag *diag) {
    struct npu *npu = host->alloc(host->self, sizeof *npu, 0, "fake npu");
    if (!npu) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the fake NPU");
    memset(npu, 0, sizeof *npu);
    npu->host = host;
    npu->owned = owned;
    npu->owner = pthread_self();
    npu->next_base = (uint64_t)TAG << 48;
    npu->record = (struct tn_context_record){.struct_size = TN_CONTEXT_RECORD_SIZE,
        .sdk = "1.0",
        .driver = "1.0",
        .arch = "fake-1"};
    npu->limits = (struct tn_provider_limits){.struct_size = TN_PROVIDER_LIMITS_SIZE,
        .flags = TN_LIMIT_STATIC_SHAPES,
        .max_rank = 4,
        .tensor_bytes = 1 << 20};
    pthread_mutex_init(&npu->lock, NULL);
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < n_options && status == TN_OK; i++)
        status = read_option(npu, options[2 * i], options[2 * i + 1], diag);
    npu->limits.dtypes =
        npu->int8 ? TN_BIT(INT8) | TN_BIT(INT32)
                  : TN_BIT(FLOAT) | TN_BIT(INT8) | TN_BIT(INT32) | TN_BIT(DOUBLE);
    if (status == TN_OK) status = cue(npu, "create", diag);
    if (status != TN_OK) {
        pthread_mutex_destroy(&npu->lock);
        host->free(host->self, npu);
        return status;
    }
    *out_instance = npu;
    return TN_OK;
}

static tn_status create(void *plugin_state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out_instance,
    struct tn_diag *diag) {
    (void)plugin_state;
    return create_any(host, options, n_options, 0, out_instance, diag);
}

static tn_status create_owned(void *plugin_state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out_instance,
    struct tn_diag *diag) {
    (void)plugin_state;
    return create_any(host, options, n_options, 1, out_instance, diag);
}

/* Whatever the host forgot to give back ends the process: no test can overlook it. */
static void destroy(void *instance) {
    struct npu *npu = instance;
    if (!npu) return;
    if (atomic_load(&npu->n_live) != 0) {
        npu->host->log(npu->host->self, TN_LOG_ERROR,
            "the host leaks groups, streams or memory of the fake NPU");
        abort();
    }
    pthread_mutex_destroy(&npu->lock);
    npu->host->free(npu->host->self, npu);
}

static const struct tn_provider_limits *limits(void *instance) {
    return &((struct npu *)instance)->limits;
}

/* ---- verdicts ------------------------------------------------------------------------- */

static tn_status capability(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    struct npu *npu = instance;
    TN_TRY(cue(npu, "capability", diag));
    const tn_node_id *ids;
    uint32_t n;
    api->nodes(graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_node *node = api->node(graph, ids[i]);
        const char *detail;
        uint32_t reason = npu_judge(api, graph, node, &detail);
        if (has_word(npu->refuse, node->op_type)) {
            reason = TN_REASON_OTHER;
            detail = "it was told to refuse it";
        }
        TN_TRY(reason == TN_REASON_OK
                   ? sink->claim(sink->self, ids[i], npu->each ? i + 1 : 1)
                   : sink->decline(sink->self, ids[i], reason, detail));
    }
    return TN_OK;
}

static void estimate(
    void *instance, const struct tn_group *group, struct tn_estimate *out) {
    const struct npu *npu = instance;
    out->ns = npu->ns * group->n_nodes;
    out->launch_ns = npu->launch_ns;
    out->confidence = 1;
}

/* ---- memory --------------------------------------------------------------------------- */

static void list_spaces(
    void *instance, const struct tn_space *const **out_spaces, uint32_t *out_n) {
    static const struct tn_space space = {.struct_size = TN_SPACE_SIZE,
        .id = SPACE,
        .name = "fake NPU memory",
        .align = ALIGN,
        .capacity = 1 << 24,
        .copy_rate = 1000};
    static const struct tn_space *const table[] = {&space};
    (void)instance;
    *out_spaces = table;
    *out_n = 1;
}

static tn_status space_alloc(void *instance, uint32_t space, uint64_t size,
    uint64_t align, void **out_address, struct tn_diag *diag) {
    struct npu *npu = instance;
    TN_TRY(cue(npu, "alloc", diag));
    if (space != SPACE || align != ALIGN || size > 1 << 24)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "%llu bytes at %llu in space %u",
            (unsigned long long)size, (unsigned long long)align, space);
    char *real = malloc(size ? size : 1);
    if (!real) return tn_fail(diag, TN_OUT_OF_MEMORY, "the fake NPU is full");
    memset(real, 0xa5, size);
    pthread_mutex_lock(&npu->lock);
    uint32_t i = 0;
    while (i < MOST_BLOCKS && npu->blocks[i].real)
        i++;
    if (i < MOST_BLOCKS) {
        npu->blocks[i] = (struct block){real, npu->next_base, size};
        *out_address = (void *)(uintptr_t)npu->next_base;
        npu->next_base += (size + 3 * ALIGN) / ALIGN * ALIGN;
    }
    pthread_mutex_unlock(&npu->lock);
    if (i == MOST_BLOCKS) {
        free(real);
        return tn_fail(diag, TN_OUT_OF_MEMORY, "the fake NPU has no block left");
    }
    atomic_fetch_add(&npu->n_live, 1);
    return TN_OK;
}

static void space_free(void *instance, uint32_t space, void *address) {
    struct npu *npu = instance;
    (void)space;
    pthread_mutex_lock(&npu->lock);
    uint32_t i = 0;
    while (i < MOST_BLOCKS &&
           !(npu->blocks[i].real && npu->blocks[i].base == (uintptr_t)address))
        i++;
    if (i == MOST_BLOCKS) abort(); /* freed twice, or never allocated */
    free(npu->blocks[i].real);
    npu->blocks[i].real = NULL;
    pthread_mutex_unlock(&npu->lock);
    atomic_fetch_sub(&npu->n_live, 1);
}

/* Real memory behind [address, address + size), NULL when it is not all of one block. */
static void *follow(struct npu *npu, const void *address, uint64_t size) {
    uint64_t at = (uintptr_t)address;
    void *real = NULL;
    if (size == 0) return npu; /* anywhere: nothing is read */
    pthread_mutex_lock(&npu->lock);
    for (uint32_t i = 0; i < MOST_BLOCKS && !real; i++) {
        const struct block *b = &npu->blocks[i];
        if (b->real && at >= b->base && at - b->base <= b->size &&
            size <= b->size - (at - b->base))
            real = b->real + (at - b->base);
    }
    pthread_mutex_unlock(&npu->lock);
    return real;
}

static tn_status copy_now(
    struct npu *npu, const struct tn_copy *copy, struct tn_diag *diag) {
    void *dst = copy->dst_space ? follow(npu, copy->dst, copy->size) : copy->dst;
    const void *src = copy->src_space ? follow(npu, copy->src, copy->size) : copy->src;
    if (!dst || !src)
        return tn_fail(diag, TN_INTERNAL, "an address outside of the NPU's memory");
    memcpy(dst, src, copy->size);
    return TN_OK;
}

/* ---- running -------------------------------------------------------------------------- */

struct group {
    struct tn_compiled compiled;
    struct npu *npu;
    struct npu_program *program;
    uint32_t spaces[NPU_MOST_BORDER];
};

/* A run with everything that must be known when it is done later. */
struct job {
    const struct group *group;
    void *inputs[NPU_MOST_BORDER], *outputs[NPU_MOST_BORDER];
    char *temporaries;
};

static void *resolve(struct npu *npu, const struct job *job, const struct npu_ref *ref) {
    struct npu_program *program = job->group->program;
    char *constants =
        (char *)(program + 1) + program->n_instructions * sizeof(struct npu_instruction);
    switch (ref->kind) {
    case NPU_INPUT:
        return follow(npu, job->inputs[ref->index], program->input_bytes[ref->index]);
    case NPU_OUTPUT:
        return follow(npu, job->outputs[ref->index], program->output_bytes[ref->index]);
    case NPU_CONSTANT: return constants + ref->offset;
    default: return job->temporaries + ref->offset;
    }
}

static tn_status run_now(struct npu *npu, const struct job *job, struct tn_diag *diag) {
    const struct npu_program *program = job->group->program;
    for (uint32_t n = 0; n < program->n_instructions; n++) {
        const struct npu_instruction *i = &npu_instructions(program)[n];
        int binary = i->operands == 2;
        void *a = resolve(npu, job, &i->a), *out = resolve(npu, job, &i->out);
        void *b = binary ? resolve(npu, job, &i->b) : NULL;
        if (!a || !out || (binary && !b))
            return tn_fail(diag, TN_INTERNAL, "a border outside of the NPU's memory");
        npu_execute(i, a, b, out);
    }
    return TN_OK;
}

/* ---- streams -------------------------------------------------------------------------- */

enum { QUEUE = 256, STAGING = 1 << 21 };

struct command {
    int is_run;
    struct job job;
    struct tn_copy copy;
};

struct stream {
    struct command queue[QUEUE];
    uint32_t n;
    uint64_t staged;
    char staging[STAGING];
};

static tn_status flush(struct npu *npu, struct stream *stream, struct tn_diag *diag) {
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < stream->n && status == TN_OK; i++)
        status = stream->queue[i].is_run ? run_now(npu, &stream->queue[i].job, diag)
                                         : copy_now(npu, &stream->queue[i].copy, diag);
    stream->n = 0;
    stream->staged = 0;
    return status;
}

static tn_status stream_create(void *instance, void **out_stream, struct tn_diag *diag) {
    struct npu *npu = instance;
    TN_TRY(cue(npu, "stream", diag));
    *out_stream = NULL;
    if (!npu->streams) return TN_OK; /* synchronous: no stream is fine */
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a stream");
    atomic_fetch_add(&npu->n_live, 1);
    *out_stream = stream;
    return TN_OK;
}

static void stream_destroy(void *instance, void *stream) {
    struct npu *npu = instance;
    if (!stream) return;
    atomic_fetch_sub(&npu->n_live, 1);
    free(stream);
}

static tn_status stream_sync(void *instance, void *stream, struct tn_diag *diag) {
    struct npu *npu = instance;
    TN_TRY(cue(npu, "sync", diag));
    return flush(npu, stream, diag);
}

static tn_status copy(
    void *instance, const struct tn_copy *request, struct tn_diag *diag) {
    struct npu *npu = instance;
    struct stream *stream = request->stream;
    TN_TRY(cue(npu, "copy", diag));
    if (!stream) return copy_now(npu, request, diag);
    int stage = request->src_space == 0;
    if (stream->n == QUEUE || (stage && request->size > STAGING - stream->staged))
        TN_TRY(flush(npu, stream, diag));
    struct command *command = &stream->queue[stream->n++];
    command->is_run = 0;
    command->copy = *request;
    if (stage) {
        if (request->size > STAGING)
            return tn_fail(diag, TN_OUT_OF_MEMORY, "a copy too large to stage");
        memcpy(stream->staging + stream->staged, request->src, request->size);
        command->copy.src = stream->staging + stream->staged;
        stream->staged += request->size;
    }
    return TN_OK;
}

/* ---- groups --------------------------------------------------------------------------- */

static tn_status wait_for_interruption(const struct tn_run *run) {
    for (uint64_t until = run->host->clock_ns(run->host->self) + 10000000000u;
         run->host->clock_ns(run->host->self) < until;) {
        tn_status status = run->interrupted(run);
        if (status != TN_OK) return status;
    }
    return tn_fail(run->diag, TN_INTERNAL, "nobody interrupted the run");
}

static tn_status start(const struct group *group, const struct tn_run_args *args) {
    struct npu *npu = group->npu;
    TN_TRY(cue(npu, "run", args->run->diag));
    if (npu->hang) return wait_for_interruption(args->run);
    struct job job = {.group = group, .temporaries = args->state};
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        const struct tn_tensor *t = args->inputs[i].as.tensor;
        if (t->space != SPACE || t->size != group->program->input_bytes[i] ||
            (uintptr_t)t->data % ALIGN != 0)
            return tn_fail(args->run->diag, TN_INTERNAL, "input %u is not as asked", i);
        job.inputs[i] = t->data;
    }
    for (uint32_t i = 0; i < args->n_outputs; i++) {
        const struct tn_tensor *t = args->outputs[i].as.tensor;
        if (t->space != SPACE || t->size != group->program->output_bytes[i])
            return tn_fail(args->run->diag, TN_INTERNAL, "output %u is not as asked", i);
        job.outputs[i] = t->data;
    }
    struct stream *stream = args->stream;
    if (!stream) return run_now(npu, &job, args->run->diag);
    if (stream->n == QUEUE) TN_TRY(flush(npu, stream, args->run->diag));
    stream->queue[stream->n++] = (struct command){.is_run = 1, .job = job};
    return TN_OK;
}

static tn_status run(void *self, const struct tn_run_args *args) {
    const struct group *group = self;
    struct npu *npu = group->npu;
    uint32_t now = atomic_fetch_add(&npu->n_running, 1) + 1;
    tn_status status =
        npu->limits.max_runs && now > npu->limits.max_runs
            ? tn_fail(args->run->diag, TN_INTERNAL, "%u runs at once, %u are allowed",
                  now, npu->limits.max_runs)
            : start(group, args);
    atomic_fetch_sub(&npu->n_running, 1);
    return status;
}

static tn_status workspace(
    void *self, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct group *group = self;
    (void)args;
    struct tn_diag ignored = {0};
    TN_TRY(cue(group->npu, "workspace", &ignored));
    out->state = group->program->temporary_bytes;
    return TN_OK;
}

static tn_status prepare(
    void *self, const struct tn_run_args *args, tn_compute_fn *fn, struct tn_diag *diag) {
    const struct group *group = self;
    (void)args;
    (void)fn;
    return cue(group->npu, "prepare", diag);
}

static void group_destroy(void *self) {
    struct group *group = self;
    struct npu *npu = group->npu;
    npu->host->free(npu->host->self, group->program);
    npu->host->free(npu->host->self, group);
    atomic_fetch_sub(&npu->n_live, 1);
}

/* Takes over the program. */
static tn_status make_group(struct npu *npu, struct npu_program *program,
    const struct tn_compiled **out, struct tn_diag *diag) {
    struct group *group = npu->host->alloc(npu->host->self, sizeof *group, 0, "fake npu");
    if (!group) {
        npu->host->free(npu->host->self, program);
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a group");
    }
    *group = (struct group){.npu = npu, .program = program};
    for (uint32_t i = 0; i < NPU_MOST_BORDER; i++)
        group->spaces[i] = SPACE;
    group->compiled = (struct tn_compiled){.struct_size = TN_COMPILED_SIZE,
        .flags = TN_COMPILED_DROPS_WEIGHTS,
        .self = group,
        .run = run,
        .destroy = group_destroy,
        .workspace = workspace,
        .prepare = prepare,
        .input_spaces = group->spaces,
        .output_spaces = group->spaces};
    atomic_fetch_add(&npu->n_live, 1);
    *out = &group->compiled;
    return TN_OK;
}

static tn_status compile(void *instance, const struct tn_group *request,
    const struct tn_compiled **out, struct tn_diag *diag) {
    struct npu *npu = instance;
    TN_TRY(cue(npu, "compile", diag));
    struct npu_program *program = npu_compile(npu->host, request, diag);
    return program ? make_group(npu, program, out, diag)
                   : tn_status_of(diag && diag->code ? diag->code : TN_INTERNAL);
}

/* ---- context binaries ----------------------------------------------------------------- */

static const char magic[8] = "FAKENPU1";

static const struct tn_context_record *context_record(void *instance) {
    return &((struct npu *)instance)->record;
}

static uint32_t context_validate(
    void *instance, const struct tn_context_record *record, const char **out_detail) {
    const struct npu *npu = instance;
    if (strcmp(record->arch, npu->record.arch) != 0) {
        *out_detail = "it is for another NPU";
        return TN_CONTEXT_UNUSABLE;
    }
    return strcmp(record->sdk, npu->record.sdk) == 0 ? TN_CONTEXT_OPTIMAL
                                                     : TN_CONTEXT_USABLE;
}

static tn_status context_export(void *instance, const struct tn_compiled *const *compiled,
    uint32_t n, const struct tn_context_sink *sink, struct tn_diag *diag) {
    TN_TRY(cue(instance, "export", diag));
    TN_TRY(sink->write(sink->self, magic, sizeof magic));
    for (uint32_t i = 0; i < n; i++) {
        const struct group *group = compiled[i]->self;
        TN_TRY(sink->write(sink->self, group->program, group->program->size));
    }
    return TN_OK;
}

static tn_status import_one(struct npu *npu, const char *blob, uint64_t size,
    const struct tn_group *wanted, const struct tn_compiled **out, struct tn_diag *diag) {
    for (uint64_t at = sizeof magic; at < size;) {
        struct npu_program head;
        if (!npu_is_program(blob + at, size - at)) break;
        memcpy(&head, blob + at, sizeof head);
        if (strcmp(head.name, wanted->name) == 0) {
            struct npu_program *program =
                npu->host->alloc(npu->host->self, head.size, 0, "fake npu");
            if (!program) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory");
            memcpy(program, blob + at, head.size);
            return make_group(npu, program, out, diag);
        }
        at += head.size;
    }
    return tn_fail(diag, TN_NOT_FOUND, "no group '%s' in the binary", wanted->name);
}

static tn_status context_import(void *instance, const struct tn_context_record *record,
    const void *blob, uint64_t size, const struct tn_group *const *groups, uint32_t n,
    const struct tn_compiled **out, struct tn_diag *diag) {
    struct npu *npu = instance;
    (void)record;
    TN_TRY(cue(npu, "import", diag));
    if (size < sizeof magic || memcmp(blob, magic, sizeof magic) != 0)
        return tn_fail(diag, TN_INVALID_MODEL, "not a binary of the fake NPU");
    for (uint32_t i = 0; i < n; i++) {
        tn_status status = import_one(npu, blob, size, groups[i], &out[i], diag);
        if (status == TN_OK) continue;
        while (i-- > 0)
            group_destroy(out[i]->self);
        return status;
    }
    return TN_OK;
}

/* ---- plugin --------------------------------------------------------------------------- */

static const char *const sources[] = {"FakeNPU", NULL};

#define NPU(variable, provider_id, created, bits)                                        \
    static const struct tn_provider_def variable = {.struct_size = TN_PROVIDER_DEF_SIZE, \
        .flags = bits,                                                                   \
        .id = provider_id,                                                               \
        .name = "Fake NPU",                                                              \
        .device_kind = TN_DEVICE_NPU,                                                    \
        .devices = list_devices,                                                         \
        .create = created,                                                               \
        .destroy = destroy,                                                              \
        .limits = limits,                                                                \
        .capability = capability,                                                        \
        .estimate = estimate,                                                            \
        .compile = compile,                                                              \
        .spaces = list_spaces,                                                           \
        .space_alloc = space_alloc,                                                      \
        .space_free = space_free,                                                        \
        .copy = copy,                                                                    \
        .stream_create = stream_create,                                                  \
        .stream_destroy = stream_destroy,                                                \
        .stream_sync = stream_sync,                                                      \
        .context_record = context_record,                                                \
        .context_validate = context_validate,                                            \
        .context_export = context_export,                                                \
        .context_import = context_import,                                                \
        .context_sources = sources}

NPU(plain, "fake.npu", create, 0);
NPU(owned, "fake.npu.owned", create_owned, TN_PROVIDER_OWNING_THREAD);

static tn_status providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *const table[] = {&plain, &owned};
    (void)state;
    *out_table = table;
    *out_count = 2;
    return TN_OK;
}

static const struct tn_plugin plugin = {.struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.fake-npu",
    .name = "Fake NPU",
    .version = "1.0.0",
    .vendor = "Tenon's tests",
    .licence = "Apache-2.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_PROVIDERS,
    .providers = providers};

TN_DEFINE_PLUGIN(plugin, "org.tenon.fake-npu");
