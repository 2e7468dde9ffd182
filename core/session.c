/* A session: the way of a model through the rooms, from bytes to a plan. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/infer/infer.h"
#include "core/objects.h"
#include "core/os/clock.h"
#include "core/plan/placement.h"

#include <string.h>

/* The provider that other providers may fall back to. */
static const char fallback[] = "cpu";

/* ---- settings ------------------------------------------------------------------------- */

/* The parts of a list setting, in the arena. */
static tn_status split_list(struct tn_session *session, const char *text,
    const char ***out_items, uint32_t *out_n, struct tn_diag *diag) {
    uint32_t n = 0;
    const char **items = tn__arena_array(session->arena, strlen(text) + 1, sizeof *items);
    if (!items) return tn__fail_memory(diag, "settings", strlen(text));
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, ":,");
        if (length) {
            items[n] = tn__arena_string(session->arena, p, length);
            if (!items[n++]) return tn__fail_memory(diag, "settings", length);
        }
        p += length + (p[length] != '\0');
    }
    *out_items = items;
    *out_n = n;
    return TN_OK;
}

/* "N=1,seq=128" as pairs. */
static tn_status read_dims(struct tn_session *session, struct tn_option **out,
    uint64_t *out_n, struct tn_diag *diag) {
    const char **items = NULL;
    uint32_t n = 0;
    TN_TRY(split_list(session, tn__conf_text(session->conf, "dims"), &items, &n, diag));
    struct tn_option *pairs = tn__arena_array(session->arena, n, sizeof *pairs);
    if (!pairs) return tn__fail_memory(diag, "settings", n);
    for (uint32_t i = 0; i < n; i++) {
        const char *equals = strrchr(items[i], '=');
        if (!equals || equals == items[i])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "setting 'dims' has '%s', which is not name=size", items[i]);
        pairs[i].key =
            tn__arena_string(session->arena, items[i], (uint64_t)(equals - items[i]));
        pairs[i].value = equals + 1;
        if (!pairs[i].key) return tn__fail_memory(diag, "settings", 64);
    }
    *out = pairs;
    *out_n = n;
    return TN_OK;
}

/* Which providers, and how much fallback: see the settings `provider` and `placement`. */
static tn_status read_providers(
    struct tn_session *session, struct tn__plan_options *out, struct tn_diag *diag) {
    const char *placement = tn__conf_text(session->conf, "placement");
    const char **items = NULL;
    uint32_t n = 0;
    TN_TRY(
        split_list(session, tn__conf_text(session->conf, "provider"), &items, &n, diag));
    bool named = false, has_fallback = false;
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(items[i], fallback) == 0)
            has_fallback = true;
        else
            named = true;
    }
    if (strcmp(placement, "strict") == 0 || (strcmp(placement, "default") == 0 && named))
        out->policy = TN_POLICY_STRICT;
    else if (strcmp(placement, "require") == 0 || !named)
        out->policy = TN_POLICY_REQUIRE;
    else
        out->policy = TN_POLICY_AUTO;
    if (!has_fallback && (n == 0 || out->policy != TN_POLICY_STRICT))
        items[n++] = fallback; /* an empty text has room for one too */
    out->has_fallback = !has_fallback && named;
    out->providers = items;
    out->n_providers = n;
    return TN_OK;
}

static bool names_provider(const struct tn__plan_options *options) {
    return options->n_providers > 1 || strcmp(options->providers[0], fallback) != 0;
}

static void read_limits(struct tn_session *session) {
    const struct tn__conf *conf = session->conf;
    session->limits = (struct tn__exec_limits){
        .tensor_bytes = (uint64_t)tn__conf_int(conf, "limits.tensor_bytes"),
        .run_bytes = (uint64_t)tn__conf_int(conf, "limits.run_bytes"),
        .iterations = (uint64_t)tn__conf_int(conf, "limits.iterations"),
        .copy_bytes = (uint64_t)tn__conf_int(conf, "limits.copy_bytes"),
        .shape_sets = (uint32_t)tn__conf_int(conf, "shape_sets")};
    session->profile = tn__conf_bool(conf, "profile");
    session->flush_denormals = tn__conf_bool(conf, "flush_denormals");
}

/* ---- stages --------------------------------------------------------------------------- */

static void note_facts(struct tn_session *session) {
    const struct tn__model *model = session->model;
    struct tn_model_info *info = &session->info;
    *info = (struct tn_model_info){.ir_version = model->ir_version,
        .model_version = model->model_version,
        .producer_name = model->producer_name ? model->producer_name : "",
        .producer_version = model->producer_version ? model->producer_version : "",
        .domain = model->domain ? model->domain : "",
        .doc = model->doc ? model->doc : "",
        .graph_name = model->graph->name ? model->graph->name : ""};
    for (const struct tn_graph *g = model->graphs; g; g = g->next_graph) {
        info->n_nodes += g->n_live;
        for (uint32_t v = 0; v < g->n_values; v++) {
            const struct tn_tensor *t = g->values[v].constant;
            uint64_t n;
            if (!t || !(g->values[v].flags & TN_VALUE_INITIALIZER)) continue;
            if (tn_count_elements(t->dims, t->rank, &n)) info->n_parameters += n;
            info->weight_bytes += t->size;
        }
    }
}

static tn_status read_weights(const struct tn_session *session,
    struct tn__load_options *out, struct tn_diag *diag) {
    const struct tn_session_options *given = session->given;
    if (!given || !TN_HAS(given, n_weights)) return TN_OK;
    for (uint64_t i = 0; i < given->n_weights; i++) {
        if (!given->weights || !given->weights[i].name || !given->weights[i].tensor)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "weights %llu of the session options have no name or no tensor",
                (unsigned long long)i);
    }
    out->weights = given->weights;
    out->n_weights = given->n_weights;
    return TN_OK;
}

/* Each of the caller's weights must have found its initializer. */
static tn_status check_weights(const struct tn_graph *g,
    const struct tn__load_options *options, struct tn_diag *diag) {
    for (uint64_t i = 0; i < options->n_weights; i++) {
        const char *name = options->weights[i].name;
        tn_value_id v = tn__graph_find(g, name);
        if (v == TN_NO_ID || !(tn__value_at(g, v)->flags & TN_VALUE_INITIALIZER))
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "weights are given for '%.120s', but the model has no initializer of "
                "that name",
                name);
    }
    return TN_OK;
}

static tn_status load_model(
    struct tn_session *session, const struct tn_model *source, struct tn_diag *diag) {
    const struct tn__conf *conf = session->conf;
    struct tn__load_options options = {.strict = tn__conf_bool(conf, "strict"),
        .max_file_bytes = (uint64_t)tn__conf_int(conf, "limits.file_bytes"),
        .max_tensor_bytes = (uint64_t)tn__conf_int(conf, "limits.tensor_bytes"),
        .max_total_bytes = (uint64_t)tn__conf_int(conf, "limits.weight_bytes"),
        .max_nodes = (uint32_t)tn__conf_int(conf, "limits.nodes"),
        .max_depth = (uint32_t)tn__conf_int(conf, "limits.depth")};
    TN_TRY(read_weights(session, &options, diag));
    TN_TRY(tn__model_load(source, &options, &session->model, diag));
    TN_TRY(check_weights(session->model->graph, &options, diag));
    note_facts(session);
    return TN_OK;
}

static tn_status infer_model(struct tn_session *session,
    const struct tn__plan_options *plan, struct tn_diag *diag) {
    const struct tn__conf *conf = session->conf;
    struct tn_option *dims = NULL;
    struct tn__infer_options options = {.strict = tn__conf_bool(conf, "strict"),
        .native = tn__conf_bool(conf, "functions.native"),
        .whole = tn__conf_bool(conf, "functions.native") && names_provider(plan),
        .providers = plan->providers,
        .n_providers = plan->n_providers,
        .max_nodes = (uint32_t)tn__conf_int(conf, "limits.nodes"),
        .read_function = tn__text_read_function};
    TN_TRY(read_dims(session, &dims, &options.n_dim_overrides, diag));
    options.dim_overrides = dims;
    return tn__infer_model(session->model, session->runtime->registry, &options, diag);
}

/* Position of a setting's text among its choices. */
static uint32_t choice(
    const struct tn_session *session, const char *key, const char *const *names) {
    const char *value = tn__conf_text(session->conf, key);
    uint32_t i = 0;
    while (names[i + 1] && strcmp(names[i], value) != 0)
        i++;
    return i;
}

/* Constants are computed by the last provider when it runs on the host. */
static const char *find_host_provider(
    struct tn_session *session, const struct tn__plan_options *plan) {
    const char *last = plan->providers[plan->n_providers - 1];
    struct tn_diag ignored = {0};
    const struct tn__registered_provider *provider =
        tn__registry_provider(session->runtime->registry, last, &ignored);
    return provider && provider->def->device_kind == TN_DEVICE_CPU ? last : fallback;
}

/* With `core_only`, what every provider may be shown the result of. */
static tn_status optimize_model(struct tn_session *session,
    const struct tn__plan_options *plan, bool core_only, struct tn_diag *diag) {
    static const char *const levels[] = {"none", "basic", "all", NULL};
    static const char *const safeties[] = {
        "exact", "reassociating", "approximating", NULL};
    const struct tn__conf *conf = session->conf;
    struct tn__opt_options options = {.level = choice(session, "level", levels),
        .safety = choice(session, "passes.safety", safeties),
        .provider = find_host_provider(session, plan),
        .fold_node_bytes = (uint64_t)tn__conf_int(conf, "fold.max_bytes"),
        .fold_total_bytes = (uint64_t)tn__conf_int(conf, "fold.total_bytes"),
        .core_only = core_only,
        .append = true,
        .verify = tn__conf_bool(conf, "passes.verify")};
    const char **disabled = NULL;
    TN_TRY(split_list(session, tn__conf_text(conf, "passes.disable"), &disabled,
        &options.n_disabled, diag));
    options.disabled = disabled;
    return tn__optimize(
        session->model, session->runtime->registry, &options, &session->passes, diag);
}

/* Whoever asks for a provider is told what became of it, without asking for a report. */
static void show_placement(
    const struct tn_session *session, const struct tn__plan_options *options) {
    const struct tn__host_services *services = &session->runtime->services;
    struct tn_text line = {0};
    if (!names_provider(options) || !tn__conf_bool(session->conf, "placement.show"))
        return;
    tn__placement_line(session->plan, &line);
    if (!line.failed) services->log(services->self, TN__LOG_NOTICE, line.data);
    tn__text_free(&line);
}

static void show_warnings(const struct tn_session *session) {
    const struct tn__host_services *services = &session->runtime->services;
    for (uint32_t i = 0; i < session->model->n_warnings; i++)
        services->log(services->self, TN_LOG_WARNING, session->model->warnings[i]);
}

static bool calibrates(
    const struct tn_session *session, const struct tn__plan_options *options) {
    return tn__conf_bool(session->conf, "placement.calibrate") &&
           options->policy != TN_POLICY_STRICT && !options->dry_run;
}

tn_status tn__session_plan_options(
    struct tn_session *session, struct tn__plan_options *out, struct tn_diag *diag) {
    *out = (struct tn__plan_options){.conf = session->conf,
        .services = &session->runtime->services,
        .weights =
            tn__conf_bool(session->conf, "prepack") ? session->runtime->weights : NULL,
        .share_weights = tn__conf_bool(session->conf, "weights.share"),
        .dry_run = tn__conf_bool(session->conf, "dry_run"),
        .by_cost = tn__conf_bool(session->conf, "placement.cost"),
        .max_fallback_nodes =
            (uint64_t)tn__conf_int(session->conf, "limits.fallback_nodes"),
        .copy = tn__transfer_step};
    TN_TRY(read_providers(session, out, diag));
    out->contexts = session->contexts;
    out->n_contexts = session->n_contexts;
    bool again = out->policy == TN_POLICY_AUTO || calibrates(session, out);
    out->keep_weights = again && out->n_providers > 1;
    return TN_OK;
}

static tn_status build_session(
    struct tn_session *session, const struct tn_model *source, struct tn_diag *diag) {
    struct tn__plan_options options;
    read_limits(session);
    TN_TRY(tn__session_plan_options(session, &options, diag));
    session->times.origin_ns = tn__clock_ns();
    TN_TRY(load_model(session, source, diag));
    session->times.loaded_ns = tn__clock_ns();
    TN_TRY(infer_model(session, &options, diag));
    TN_TRY(tn__contexts_read(session, source, &options, diag));
    TN_TRY(tn__plan_open(
        session->model, session->runtime->registry, &options, &session->plan, diag));
    if (names_provider(&options)) {
        TN_TRY(optimize_model(session, &options, true, diag));
        TN_TRY(tn__plan_reserve(session->plan, fallback, diag));
        if (tn__conf_bool(session->conf, "functions.native"))
            TN_TRY(tn__infer_finish(session->model, diag));
    }
    const char *kept = tn__conf_text(session->conf, "context.write");
    TN_TRY(optimize_model(session, &options, kept[0] != '\0', diag));
    TN_TRY(tn__plan_build(session->plan, diag));
    if (kept[0] && !session->plan->dry)
        TN_TRY(tn__contexts_write(
            session, kept, tn__conf_bool(session->conf, "context.embed"), diag));
    TN_TRY(tn__session_describe(session, diag));
    if (calibrates(session, &options)) TN_TRY(tn__calibrate(session, &options, diag));
    session->times.ready_ns = tn__clock_ns();
    show_warnings(session);
    show_placement(session, &options);
    return TN_OK;
}

/* ---- life ----------------------------------------------------------------------------- */

tn_status tn_session_create(struct tn_runtime *runtime, const struct tn_model *model,
    const struct tn_session_options *options, struct tn_session **out,
    struct tn_diag *diag) {
    if (!runtime || !model || !out)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "a session needs a runtime, a model and a place to go");
    if (options)
        TN_TRY(tn__options_check(
            options->struct_size, options->flags, "tn_session_options", diag));
    struct tn_session *session = tn__alloc_zero(sizeof *session, 0);
    if (!session) return tn__fail_memory(diag, "a session", sizeof *session);
    session->runtime = runtime;
    pthread_mutex_init(&session->spare_lock, NULL);
    session->given = options;
    session->arena = tn__arena_create();
    tn_status status = session->arena ? TN_OK : tn__fail_memory(diag, "a session", 4096);
    if (status == TN_OK)
        status = tn__conf_derive(runtime->conf, options ? options->options : NULL,
            options ? options->n_options : 0, &session->conf, diag);
    if (status == TN_OK) status = build_session(session, model, diag);
    if (status != TN_OK) {
        tn_session_destroy(session);
        return status;
    }
    session->given = NULL;
    *out = session;
    return TN_OK;
}

void tn_session_destroy(struct tn_session *session) {
    if (!session) return;
    tn__plan_destroy(session->spare);
    tn__plan_destroy(session->plan);
    tn__model_destroy(session->model);
    tn__conf_destroy(session->conf);
    tn__arena_destroy(session->arena);
    pthread_mutex_destroy(&session->spare_lock);
    tn__free(session);
}
