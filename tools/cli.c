/* Arguments and messages of the command: options are rows of one table. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum option_type { FLAG, TEXT, LONG, REAL, LIST };

struct option {
    const char *name;
    const char *arg; /* NULL for a flag */
    enum option_type type;
    unsigned verbs;
    size_t offset;
    const char *help;
};

enum {
    RUN = 1,
    INFO = 2,
    CHECK = 4,
    BENCH = 8,
    PROFILE = 16,
    PLUGINS = 32,
    NEW = 64,
    ASSIGN = 128,
    LINT = 256,
    PROBE = 512,
    DOCTOR = 1024
};
enum {
    LOADS = RUN | INFO | CHECK | BENCH | PROFILE | ASSIGN,
    RUNS = RUN | BENCH | PROFILE,
    ALL = 63 | ASSIGN | DOCTOR
};

/* clang-format off */
#define AT(field) offsetof(struct cli_args, field)
static const struct option rows[] = {
    {"--input", "[NAME=]FILE", LIST, RUNS, AT(inputs), "an input: .npy, .npz, .bin or .pb; without a name, in order"},
    {"--data", "DIR", TEXT, RUNS, AT(data_dir), "inputs and expected outputs of a test_data_set folder"},
    {"--shape", "NAME:1x3x224", LIST, RUNS, AT(shapes), "shape of a generated or raw input; also 1,3,224 or [1,3,224]"},
    {"--seed", "N", LONG, RUNS, AT(seed), "seed of generated inputs"},
    {"--expect", "[NAME=]FILE", LIST, RUN, AT(expects), "compare an output with a file"},
    {"--rtol", "X", REAL, RUN, AT(rtol), "relative tolerance (1e-3)"},
    {"--atol", "X", REAL, RUN, AT(atol), "absolute tolerance (1e-5)"},
    {"--classes", NULL, FLAG, RUN, AT(classes), "print the best class of each row"},
    {"--output", "DIR", TEXT, RUN, AT(output_dir), "write the outputs there as .npy"},
    {"--runs", "N", LONG, RUNS, AT(runs), "number of runs"},
    {"--seconds", "X", REAL, BENCH, AT(seconds), "time for each model (2)"},
    {"--warmup", "N", LONG, RUNS, AT(warmup), "runs that are not counted"},
    {"--rounds", "N", LONG, BENCH, AT(rounds), "rounds among which the models take turns (5)"},
    {"--deadline", "MS", LONG, RUNS, AT(deadline_ms), "end a run that takes longer"},
    {"--trace", "FILE", TEXT, PROFILE, AT(trace), "write a Chrome trace"},
    {"--html", "FILE", TEXT, ASSIGN, AT(html), "write a page with the graph coloured by provider"},
    {"--provider", "LIST", TEXT, LOADS, AT(provider), "execution providers in order of preference"},
    {"--placement", "MODE", TEXT, LOADS, AT(placement), "strict, require or auto"},
    {"--level", "LEVEL", TEXT, LOADS, AT(level), "none, basic or all"},
    {"--threads", "N", TEXT, ALL, AT(threads), "threads, 0 = as many as allowed"},
    {"--set", "KEY=VALUE", LIST, ALL, AT(settings), "any setting of docs/config.md"},
    {"--config", "FILE", TEXT, ALL, AT(config), "a settings file"},
    {"--plugin", "FILE", LIST, ALL, AT(plugins), "load one more plugin"},
    {"--op", "NAME", TEXT, PROBE, AT(op), "only this operator"},
    {"--support", NULL, FLAG, INFO | PLUGINS, AT(support), "the table of operators, versions and types"},
    {"--graph", NULL, FLAG, INFO, AT(graph), "the compiled graph in the ONNX text format"},
    {"--placed", NULL, FLAG, RUN | INFO, AT(placement_report), "where each node runs, and why"},
    {"--profile", NULL, FLAG, RUN, AT(profile), "time per node"},
    {"--json", NULL, FLAG, ALL | LINT, AT(json), "answer in JSON"},
    {"--quiet", NULL, FLAG, ALL | NEW | LINT | PROBE, AT(quiet), "no progress, no values"},
    {"--help", NULL, FLAG, ALL | NEW | LINT | PROBE, AT(help), "this text"},
};
#undef AT
/* clang-format on */

/* ---- parsing -------------------------------------------------------------------------- */

static const struct option *find_option(const char *text, size_t n, unsigned verb) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((rows[i].verbs & verb) && strncmp(rows[i].name, text, n) == 0 &&
            rows[i].name[n] == '\0')
            return &rows[i];
    }
    return NULL;
}

static bool add_pair(struct cli_list *list, const char *text, char separator) {
    if (list->n == CLI_MOST) return false;
    const char *at = separator ? strchr(text, separator) : NULL;
    struct cli_pair pair = {NULL, text};
    if (at) {
        char *name = strndup(text, (size_t)(at - text));
        pair = (struct cli_pair){name, at + 1};
        if (!name) return false;
    }
    list->items[list->n++] = pair;
    return true;
}

static bool store(struct cli_args *args, const struct option *option, const char *text) {
    void *field = (char *)args + option->offset;
    char *end = NULL;
    errno = 0;
    switch (option->type) {
    case FLAG: *(bool *)field = true; return true;
    case TEXT: *(const char **)field = text; return true;
    case LONG:
        *(long *)field = strtol(text, &end, 10);
        return *text && *end == '\0' && !errno && *(long *)field >= 0;
    case REAL:
        *(double *)field = strtod(text, &end);
        return *text && *end == '\0' && *(double *)field >= 0;
    default: return add_pair(field, text, option->arg[0] == 'N' ? ':' : '=');
    }
}

static int parse_one(
    int argc, char **argv, int *i, const struct cli_verb *verb, struct cli_args *args) {
    const char *text = argv[*i];
    if (text[0] != '-' || text[1] == '\0')
        return add_pair(&args->models, text, '\0')
                   ? EXIT_OK
                   : cli_usage(args, "too many arguments");
    size_t n = strcspn(text, "=");
    const struct option *option = find_option(text, n, verb->mask);
    if (!option)
        return cli_usage(args, "'%s' has no option '%.*s'", verb->name, (int)n, text);
    const char *value = text[n] == '=' ? text + n + 1 : NULL;
    if (!option->arg && value)
        return cli_usage(args, "option '%s' takes no value", option->name);
    if (option->arg && !value) {
        if (*i + 1 >= argc)
            return cli_usage(args, "option '%s' needs %s", option->name, option->arg);
        value = argv[++*i];
    }
    if (!store(args, option, value))
        return cli_usage(args, "option '%s': '%s' is not %s", option->name, value,
            option->arg ? option->arg : "allowed");
    return EXIT_OK;
}

int cli_parse(int argc, char **argv, const struct cli_verb *verb, struct cli_args *out) {
    *out = (struct cli_args){.verb = verb->name,
        .rtol = 1e-3,
        .atol = 1e-5,
        .seconds = 2,
        .rounds = 5,
        .warmup = -1,
        .runs = 0};
    for (int i = 0; i < argc; i++)
        out->json |= strcmp(argv[i], "--json") == 0; /* mistakes are told in JSON too */
    for (int i = 0; i < argc; i++) {
        int code = parse_one(argc, argv, &i, verb, out);
        if (code != EXIT_OK) return code;
    }
    return EXIT_OK;
}

void cli_help(const struct cli_verb *verb, FILE *to) {
    fprintf(to, "tenon %s: %s\n\n", verb->usage, verb->help);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char left[64];
        if (!(rows[i].verbs & verb->mask)) continue;
        snprintf(
            left, sizeof left, "%s %s", rows[i].name, rows[i].arg ? rows[i].arg : "");
        fprintf(to, "  %-26s %s\n", left, rows[i].help);
    }
}

/* ---- messages ------------------------------------------------------------------------- */

void cli_json_string(FILE *to, const char *text) {
    fputc('"', to);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(to, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(to, "\\u%04x", *p);
        else
            fputc(*p, to);
    }
    fputc('"', to);
}

static void json_field(FILE *to, const char *key, const char *value) {
    if (*value) {
        fprintf(to, ",\"%s\":", key);
        cli_json_string(to, value);
    }
}

int cli_fail(const struct cli_args *args, int exit_code, const struct tn_diag *diag) {
    if (args->json) {
        printf("{\"error\":{\"code\":%d,\"kind\":\"%s\"", diag->code,
            tn_status_text(diag->code));
        if (diag->rule) printf(",\"rule\":%u", diag->rule);
        json_field(stdout, "message", diag->message);
        json_field(stdout, "node", diag->node);
        json_field(stdout, "op", diag->op);
        json_field(stdout, "tensor", diag->tensor);
        json_field(stdout, "plugin", diag->plugin);
        printf("}}\n");
        return exit_code;
    }
    fprintf(
        stderr, "tenon: %s", *diag->message ? diag->message : tn_status_text(diag->code));
    if (*diag->node && !strstr(diag->message, diag->node))
        fprintf(stderr, " [node %s%s%s]", diag->node, *diag->op ? ", " : "", diag->op);
    fputc('\n', stderr);
    return exit_code;
}

int cli_usage(const struct cli_args *args, const char *format, ...) {
    struct tn_diag diag = {.code = TN_INVALID_ARGUMENT};
    va_list list;
    va_start(list, format);
    vsnprintf(diag.message, sizeof diag.message, format, list);
    va_end(list);
    cli_fail(args, EXIT_USAGE, &diag);
    if (!args->json) fprintf(stderr, "tenon: see 'tenon %s --help'\n", args->verb);
    return EXIT_USAGE;
}

int cli_write(void *file, const char *text, uint64_t size) {
    return fwrite(text, 1, size, file) != size;
}

int cli_keep(void *arg, const char *piece, uint64_t size) {
    struct cli_text *text = arg;
    char *data = realloc(text->data, text->size + size + 1);
    if (!data) return 1;
    memcpy(data + text->size, piece, size);
    data[text->size + size] = '\0';
    text->data = data;
    text->size += size;
    return 0;
}

/* ---- runtimes and sessions ------------------------------------------------------------ */

/* Settings of the runtime go there, the others to sessions: each refuses what is not its own,
 * so the command sorts them by trying. */
static bool is_runtime_key(const char *key) {
    static const char *const own[] = {
        "threads", "threads.spin_us", "cpu.isa", "log.level", "config", NULL};
    for (unsigned i = 0; own[i]; i++) {
        if (strcmp(own[i], key) == 0) return true;
    }
    return strncmp(key, "plugin", 6) == 0;
}

static unsigned gather(const struct cli_args *args, bool runtime, struct tn_option *out) {
    const struct tn_option named[] = {{"config", runtime ? args->config : NULL},
        {"threads", runtime ? args->threads : NULL},
        {"provider", runtime ? NULL : args->provider},
        {"placement", runtime ? NULL : args->placement},
        {"level", runtime ? NULL : args->level}};
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i].value) out[n++] = named[i];
    }
    for (unsigned i = 0; i < args->settings.n; i++) {
        const struct cli_pair *pair = &args->settings.items[i];
        if (is_runtime_key(pair->name) == runtime)
            out[n++] = (struct tn_option){pair->name, pair->text};
    }
    return n;
}

int cli_runtime(const struct cli_args *args, struct tn_runtime **out) {
    struct tn_option list[CLI_MOST + 8];
    struct tn_diag diag = {0};
    for (unsigned i = 0; i < args->settings.n; i++) {
        if (!args->settings.items[i].name)
            return cli_usage(
                args, "--set wants KEY=VALUE, not '%s'", args->settings.items[i].text);
    }
    struct tn_runtime_options options = {.struct_size = TN_RUNTIME_OPTIONS_SIZE,
        .options = list,
        .n_options = gather(args, true, list)};
    if (tn_runtime_create(&options, out, &diag) != TN_OK)
        return cli_fail(
            args, diag.code == TN_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_LOAD, &diag);
    for (unsigned i = 0; i < args->plugins.n; i++) {
        if (tn_runtime_load_plugin(*out, args->plugins.items[i].text, &diag) == TN_OK)
            continue;
        tn_runtime_destroy(*out);
        *out = NULL; /* callers destroy what they have */
        return cli_fail(args, EXIT_LOAD, &diag);
    }
    return EXIT_OK;
}

int cli_session(const struct cli_args *args, struct tn_runtime *runtime, const char *path,
    struct tn_session **out) {
    struct tn_option list[CLI_MOST + 8];
    struct tn_diag diag = {0};
    struct tn_session_options options = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = list,
        .n_options = gather(args, false, list)};
    struct tn_model model = {.path = path};
    progress_begin(args, "loading");
    tn_status status = tn_session_create(runtime, &model, &options, out, &diag);
    progress_end();
    if (status == TN_OK) return EXIT_OK;
    return cli_fail(args, status == TN_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_LOAD, &diag);
}

const char *cli_type_text(const struct tn_io *io, char *buf, size_t size) {
    static const char *const kinds[] = {
        "", "", "sequence of ", "map to ", "optional ", "sparse ", "opaque "};
    const struct tn_type *type = &io->type;
    int n = snprintf(buf, size, "%s%s", type->kind < 7 ? kinds[type->kind] : "",
        tn_dtype_name(type->dtype));
    if (type->rank < 0 || n < 0 || (size_t)n >= size) return buf;
    size_t used = (size_t)n;
    for (int32_t i = 0; i < type->rank && used + 1 < size; i++) {
        const char *name = io->dim_names ? io->dim_names[i] : NULL;
        const char *separator = i ? "," : "[";
        n = type->dims[i] >= 0
                ? snprintf(buf + used, size - used, "%s%lld", separator,
                      (long long)type->dims[i])
                : snprintf(buf + used, size - used, "%s%s", separator, name ? name : "?");
        used += n > 0 ? (size_t)n : 0;
    }
    if (type->rank > 0 && used + 1 < size) snprintf(buf + used, size - used, "]");
    return buf;
}
