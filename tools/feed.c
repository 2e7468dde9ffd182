/* Inputs of a run: see feed.h. */
#include "feed.h"

#include "tenon/helper/diag.h"
#include "tensor_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RANK = 64 };
#define MOST_GENERATED (UINT64_C(1) << 34) /* bytes */

/* ---- shapes --------------------------------------------------------------------------- */

static const struct cli_pair *find_pair(const struct cli_list *list, const char *name) {
    for (unsigned i = 0; i < list->n; i++) {
        if (list->items[i].name && strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    }
    return NULL;
}

/* "1x3x224", "1,3,224" or "[1,3,224]"; -1 on a mistake. */
static int parse_dims(const char *text, int64_t *dims) {
    int rank = 0;
    bool bracket = *text == '[';
    text += bracket;
    if (*text == '\0') return -1;
    while (*text != ']') {
        char *end;
        long long dim = strtoll(text, &end, 10);
        if (end == text || dim < 0 || rank == MAX_RANK) return -1;
        dims[rank++] = dim;
        text = end + strspn(end, " ");
        if (*text == '\0') break;
        if (*text == ']') continue;
        if (*text != 'x' && *text != ',') return -1;
        text++;
    }
    return bracket == (*text == ']') && text[bracket] == '\0' ? rank : -1;
}

int feed_shape(const struct cli_args *args, const struct tn_io *io, int64_t *dims,
    struct tn_type *out) {
    const struct cli_pair *given = find_pair(&args->shapes, io->name);
    *out = io->type;
    out->dims = dims;
    if (given) {
        int rank = parse_dims(given->text, dims);
        if (rank < 0)
            return cli_usage(args,
                "--shape %s:%s: expected 1x3x224, 1,3,224 or [1,3,224]", io->name,
                given->text);
        out->rank = rank;
        return EXIT_OK;
    }
    out->rank = out->rank < 0 ? 0 : out->rank > MAX_RANK ? MAX_RANK : out->rank;
    for (int32_t i = 0; i < out->rank; i++)
        dims[i] = io->type.dims[i] < 0 ? 1 : io->type.dims[i];
    return EXIT_OK;
}

/* ---- generated values ----------------------------------------------------------------- */

/* splitmix64 (public domain constants): the same inputs on every machine. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill_element(int32_t dtype, char *at, uint64_t random) {
    float f = (float)(random >> 40) / 16777216.0f;
    double d = (double)(random >> 11) / 9007199254740992.0;
    uint32_t bits;
    switch (dtype) {
    case TN_FLOAT: memcpy(at, &f, sizeof f); break;
    case TN_DOUBLE: memcpy(at, &d, sizeof d); break;
    case TN_FLOAT16: /* [0.5, 1): a random mantissa under the exponent of 0.5 */
        bits = 0x3800u | (uint32_t)(random >> 54);
        memcpy(at, &bits, 2);
        break;
    case TN_BFLOAT16:
        memcpy(&bits, &f, sizeof bits);
        bits >>= 16;
        memcpy(at, &bits, 2);
        break;
    case TN_BOOL: *at = (char)(random & 1); break;
    default: /* integers 0 … 9, little-endian; other floats: small positive codes */
        memset(at, 0, tn_dtype_bits(dtype) / 8);
        *at = (char)(random % 10);
        break;
    }
}

tn_status feed_generate(const struct tn_type *type, uint64_t seed, struct tn_value **out,
    struct tn_diag *diag) {
    uint64_t n = 1, bits = tn_dtype_bits(type->dtype), state = seed;
    for (int32_t i = 0; i < type->rank; i++) {
        if (__builtin_mul_overflow(n, (uint64_t)type->dims[i], &n) || n > MOST_GENERATED)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "a generated input is too large");
    }
    if (n * (bits < 8 ? 8 : bits) / 8 > MOST_GENERATED)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "a generated input is too large");
    char *data = calloc(n + 1, bits < 8 ? 1 : bits / 8);
    if (!data)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "not enough memory for a generated input");
    if (type->dtype == TN_STRING) {
        for (uint64_t i = 0; i < n; i++)
            ((struct tn_string *)data)[i] = (struct tn_string){"a", 1};
    } else if (bits < 8) {
        for (uint64_t i = 0; i < (n * bits + 7) / 8; i++)
            data[i] = (char)(next_random(&state) & 0x11);
    } else {
        for (uint64_t i = 0; i < n; i++)
            fill_element(type->dtype, data + i * (bits / 8), next_random(&state));
    }
    tn_status status =
        tn_value_tensor(type->dtype, type->dims, (uint32_t)type->rank, data, out, diag);
    free(data);
    return status;
}

static int generate(const struct cli_args *args, const struct tn_io *io, uint32_t index,
    struct tn_value **out) {
    int64_t dims[MAX_RANK];
    struct tn_type type;
    struct tn_diag diag = {0};
    int code = feed_shape(args, io, dims, &type);
    if (code != EXIT_OK) return code;
    if (type.kind != TN_KIND_TENSOR)
        return cli_usage(args, "input '%s' is no tensor: give it with --input %s=FILE.pb",
            io->name, io->name);
    if (feed_generate(&type, (uint64_t)args->seed * 1000003 + index + 1, out, &diag) !=
        TN_OK)
        return cli_fail(args, EXIT_USAGE, &diag);
    return EXIT_OK;
}

/* ---- files ---------------------------------------------------------------------------- */

static int read_file(const struct cli_args *args, const struct tn_io *io,
    const char *path, struct tn_value **out) {
    int64_t dims[MAX_RANK];
    struct tn_type type = io->type;
    struct tn_diag diag = {0};
    if (find_pair(&args->shapes, io->name)) {
        int code = feed_shape(args, io, dims, &type);
        if (code != EXIT_OK) return code;
    }
    if (tensor_file_read(path, io->name, &type, out, &diag) != TN_OK) {
        snprintf(diag.tensor, sizeof diag.tensor, "%s", io->name);
        return cli_fail(args, EXIT_USAGE, &diag);
    }
    return EXIT_OK;
}

static int read_given(
    const struct cli_args *args, const struct tn_session *session, struct feed *out) {
    uint32_t position = 0;
    for (unsigned i = 0; i < args->inputs.n; i++) {
        const struct cli_pair *pair = &args->inputs.items[i];
        uint32_t index =
            pair->name ? tn_session_find(session, TN_INPUT, pair->name) : position++;
        if (index >= out->n)
            return cli_usage(args, "the model has no input '%s'; 'tenon info' lists them",
                pair->name ? pair->name : pair->text);
        int code = read_file(args, tn_session_io(session, TN_INPUT, index), pair->text,
            &out->values[index]);
        if (code != EXIT_OK) return code;
    }
    return EXIT_OK;
}

static int read_folder(
    const struct cli_args *args, const struct tn_session *session, struct feed *out) {
    char path[4096];
    for (uint32_t i = 0; args->data_dir && i < out->n; i++) {
        snprintf(path, sizeof path, "%s/input_%u.pb", args->data_dir, i);
        if (out->values[i] || access(path, F_OK) != 0) continue;
        int code =
            read_file(args, tn_session_io(session, TN_INPUT, i), path, &out->values[i]);
        if (code != EXIT_OK) return code;
    }
    return EXIT_OK;
}

/* Options that name nothing of the model are mistakes. With several models, an input of any
 * one may be meant. */
static int check_names(const struct cli_args *args, const struct tn_session *session) {
    struct stat info;
    for (unsigned i = 0; i < args->shapes.n; i++) {
        const struct cli_pair *pair = &args->shapes.items[i];
        if (!pair->name)
            return cli_usage(args, "--shape wants NAME:DIMS, not '%s'", pair->text);
        if (args->models.n == 1 &&
            tn_session_find(session, TN_INPUT, pair->name) == UINT32_MAX)
            return cli_usage(args,
                "--shape: the model has no input '%s'; 'tenon info' lists them",
                pair->name);
    }
    if (args->data_dir && (stat(args->data_dir, &info) != 0 || !S_ISDIR(info.st_mode)))
        return cli_usage(args, "--data: '%s' is no folder", args->data_dir);
    return EXIT_OK;
}

int feed_make(
    const struct cli_args *args, const struct tn_session *session, struct feed *out) {
    *out = (struct feed){.n = tn_session_io_count(session, TN_INPUT)};
    if (out->n > FEED_MOST)
        return cli_usage(args, "the model has %u inputs, at most %d are supported here",
            out->n, FEED_MOST);
    int code = check_names(args, session);
    if (code == EXIT_OK) code = read_given(args, session, out);
    if (code == EXIT_OK) code = read_folder(args, session, out);
    for (uint32_t i = 0; code == EXIT_OK && i < out->n; i++) {
        const struct tn_io *io = tn_session_io(session, TN_INPUT, i);
        if (out->values[i] || io->optional) continue;
        code = generate(args, io, i, &out->values[i]);
        out->generated[i] = true;
    }
    if (code != EXIT_OK) feed_free(out);
    return code;
}

int feed_bind(
    const struct cli_args *args, const struct feed *feed, struct tn_context *context) {
    struct tn_diag diag = {0};
    for (uint32_t i = 0; i < feed->n; i++) {
        if (feed->values[i] && tn_context_set_input(context, i,
                                   tn_value_get(feed->values[i]), &diag) != TN_OK)
            return cli_fail(args, EXIT_RUN, &diag);
    }
    return EXIT_OK;
}

void feed_free(struct feed *feed) {
    for (uint32_t i = 0; i < feed->n && i < FEED_MOST; i++)
        tn_value_release(&feed->values[i]);
}
