/* numpy's formats: see npy.h. */
#include "npy.h"

#include "tenon/helper/diag.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef TN_HAVE_ZLIB
#include <zlib.h>
#endif

enum { MAX_RANK = 64 };

struct header {
    char kind; /* f, i, u, b, c, U, S */
    uint64_t width;
    bool swapped, fortran;
    int64_t dims[MAX_RANK];
    uint32_t rank;
    uint64_t count;
    const char *data;
    uint64_t size;
};

/* ---- header --------------------------------------------------------------------------- */

static const char *find_value(const char *text, const char *key) {
    const char *at = strstr(text, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    if (!at) return NULL;
    at++;
    return at + strspn(at, " ");
}

static bool parse_shape(const char *text, struct header *h) {
    if (!text || *text != '(') return false;
    h->count = 1;
    for (text++;; text += strspn(text, ", ")) {
        char *end;
        if (*text == ')') return true;
        long long dim = strtoll(text, &end, 10);
        if (end == text || dim < 0 || h->rank == MAX_RANK ||
            __builtin_mul_overflow(h->count, (uint64_t)dim, &h->count))
            return false;
        h->dims[h->rank++] = dim;
        text = end;
    }
}

static bool parse_descr(const char *text, struct header *h) {
    if (!text || (*text != '\'' && *text != '"') || !strchr("<>|=", text[1]) || !text[1])
        return false;
    char *end;
    h->swapped = text[1] == '>';
    h->kind = text[2];
    h->width = strtoull(text + 3, &end, 10);
    return end > text + 3 && h->width > 0 && h->width < (1u << 20);
}

static bool parse_header(const char *data, uint64_t size, struct header *h, char *text) {
    enum { TEXT_MOST = 4096 };
    if (size < 12 || memcmp(data, "\x93NUMPY", 6) != 0 || data[6] < 1 || data[6] > 3)
        return false;
    const unsigned char *p = (const unsigned char *)data;
    uint64_t start = data[6] == 1 ? 10 : 12;
    uint64_t length = p[8] | (uint64_t)p[9] << 8;
    if (start == 12) length |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
    if (length > size - start || length >= TEXT_MOST) return false;
    memcpy(text, data + start, length);
    text[length] = '\0';
    const char *order = find_value(text, "'fortran_order'");
    h->fortran = order && strncmp(order, "True", 4) == 0;
    h->data = data + start + length;
    h->size = size - start - length;
    return parse_descr(find_value(text, "'descr'"), h) &&
           parse_shape(find_value(text, "'shape'"), h);
}

static int32_t dtype_of(const struct header *h) {
    static const struct {
        char kind;
        uint64_t width;
        int32_t dtype;
    } rows[] = {{'f', 4, TN_FLOAT}, {'f', 8, TN_DOUBLE}, {'f', 2, TN_FLOAT16},
        {'i', 1, TN_INT8}, {'i', 2, TN_INT16}, {'i', 4, TN_INT32}, {'i', 8, TN_INT64},
        {'u', 1, TN_UINT8}, {'u', 2, TN_UINT16}, {'u', 4, TN_UINT32}, {'u', 8, TN_UINT64},
        {'b', 1, TN_BOOL}, {'c', 8, TN_COMPLEX64}, {'c', 16, TN_COMPLEX128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].kind == h->kind && rows[i].width == h->width) return rows[i].dtype;
    }
    return h->kind == 'U' || h->kind == 'S' ? TN_STRING : TN_UNDEFINED;
}

/* ---- strings -------------------------------------------------------------------------- */

uint32_t npy_decode_utf8(const struct tn_string *string, uint64_t *at) {
    if (*at >= string->size) return 0;
    const unsigned char *p = (const unsigned char *)string->data + *at;
    uint64_t left = string->size - *at;
    unsigned n = p[0] < 0x80    ? 1
                 : p[0] >= 0xf0 ? 4
                 : p[0] >= 0xe0 ? 3
                 : p[0] >= 0xc0 ? 2
                                : 0;
    if (n == 0 || n > left) {
        ++*at;
        return 0xfffd;
    }
    *at += n;
    uint32_t code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (unsigned i = 1; i < n; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

static unsigned encode_utf8(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    unsigned n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> n) | code);
    return n;
}

/* One element of fixed width into `bytes`; returns its length without trailing zeros. */
static uint64_t read_string(const struct header *h, uint64_t i, char *bytes) {
    if (h->kind == 'S') {
        const char *p = h->data + i * h->width;
        uint64_t n = h->width;
        while (n > 0 && p[n - 1] == '\0')
            n--;
        memcpy(bytes, p, n);
        return n;
    }
    uint64_t n = 0, kept = 0;
    for (uint64_t k = 0; k < h->width; k++) {
        uint32_t code;
        memcpy(&code, h->data + (i * h->width + k) * 4, sizeof code);
        code = h->swapped ? __builtin_bswap32(code) : code;
        n += encode_utf8(code > 0x10ffff ? 0xfffd : code, bytes + n);
        kept = code ? n : kept;
    }
    return kept;
}

static tn_status parse_strings(const struct header *h, const int64_t *dims,
    struct tn_value **out, struct tn_diag *diag) {
    uint64_t room = h->width * (h->kind == 'U' ? 4 : 1);
    struct tn_string *strings = calloc(h->count + 1, sizeof *strings);
    char *bytes = malloc(room * h->count + 1);
    tn_status status = TN_OUT_OF_MEMORY;
    if (strings && bytes) {
        for (uint64_t i = 0; i < h->count; i++)
            strings[i] =
                (struct tn_string){bytes + i * room, read_string(h, i, bytes + i * room)};
        status = tn_value_tensor(TN_STRING, dims, h->rank, strings, out, diag);
    }
    free(strings);
    free(bytes);
    return status;
}

/* ---- numbers -------------------------------------------------------------------------- */

/* Copies element by element: from column-major order, and with bytes reversed. */
static void convert(const struct header *h, uint64_t unit, char *dst) {
    uint64_t strides[MAX_RANK], index[MAX_RANK] = {0}, stride = 1;
    for (uint32_t d = 0; d < h->rank; d++) {
        uint32_t axis = h->fortran ? d : h->rank - 1 - d;
        strides[axis] = stride;
        stride *= (uint64_t)h->dims[axis];
    }
    for (uint64_t i = 0; i < h->count; i++, dst += h->width) {
        uint64_t at = 0;
        for (uint32_t d = 0; d < h->rank; d++)
            at += index[d] * strides[d];
        const char *src = h->data + at * h->width;
        for (uint64_t b = 0; b < h->width; b++)
            dst[b] = h->swapped ? src[b / unit * unit + (unit - 1 - b % unit)] : src[b];
        for (uint32_t d = h->rank; d-- > 0;) {
            if (++index[d] < (uint64_t)h->dims[d]) break;
            index[d] = 0;
        }
    }
}

static tn_status parse_numbers(
    const struct header *h, int32_t dtype, struct tn_value **out, struct tn_diag *diag) {
    if (!h->fortran && !h->swapped)
        return tn_value_tensor(dtype, h->dims, h->rank, h->data, out, diag);
    char *copy = malloc(h->count * h->width + 1);
    if (!copy) return tn_fail(diag, TN_OUT_OF_MEMORY, "not enough memory for a tensor");
    convert(h, h->kind == 'c' ? h->width / 2 : h->width, copy);
    tn_status status = tn_value_tensor(dtype, h->dims, h->rank, copy, out, diag);
    free(copy);
    return status;
}

tn_status npy_parse(const char *path, const char *data, uint64_t size,
    struct tn_value **out, struct tn_diag *diag) {
    char text[4096];
    struct header h = {0};
    uint64_t need;
    if (!parse_header(data, size, &h, text))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' is not a .npy file", path);
    int32_t dtype = dtype_of(&h);
    if (dtype == TN_UNDEFINED)
        return tn_fail(diag, TN_UNSUPPORTED,
            "'%s' has elements of numpy's kind '%c' and %llu bytes, which no ONNX type "
            "has",
            path, h.kind, (unsigned long long)h.width);
    uint64_t width = h.kind == 'U' ? h.width * 4 : h.width;
    if (__builtin_mul_overflow(h.count, width, &need) || need > h.size)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'%s' ends early: %llu bytes of data where its shape needs more", path,
            (unsigned long long)h.size);
    return dtype == TN_STRING ? parse_strings(&h, h.dims, out, diag)
                              : parse_numbers(&h, dtype, out, diag);
}

/* ---- archives ------------------------------------------------------------------------- */

static uint32_t le32(const char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t le16(const char *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

struct member {
    const char *name;
    uint64_t name_size, packed, size, offset;
    uint32_t method;
};

/* The entry of the central directory at *at, which advances. */
static bool next_member(
    const char *data, uint64_t size, uint64_t *at, struct member *out) {
    if (*at > size || size - *at < 46 || memcmp(data + *at, "PK\1\2", 4) != 0)
        return false;
    const char *p = data + *at;
    *out = (struct member){
        p + 46, le16(p + 28), le32(p + 20), le32(p + 24), le32(p + 42), le16(p + 10)};
    uint64_t length = 46 + out->name_size + le16(p + 30) + le16(p + 32);
    if (length > size - *at) return false;
    *at += length;
    return true;
}

static bool find_directory(
    const char *data, uint64_t size, uint64_t *out_at, uint32_t *out_n) {
    for (uint64_t back = 22; back <= size && back < 22 + 65536; back++) {
        const char *p = data + size - back;
        if (memcmp(p, "PK\5\6", 4) != 0) continue;
        *out_at = le32(p + 16);
        *out_n = le16(p + 10);
        return true;
    }
    return false;
}

static tn_status inflate_member(const char *path, const char *packed,
    const struct member *m, struct tn_value **out, struct tn_diag *diag) {
#ifdef TN_HAVE_ZLIB
    char *plain = m->size < (UINT64_C(1) << 32) ? malloc(m->size + 1) : NULL;
    if (!plain)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "not enough memory to unpack '%s'", path);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed,
        .avail_in = (uInt)m->packed,
        .next_out = (Bytef *)plain,
        .avail_out = (uInt)m->size};
    bool done = inflateInit2(&stream, -MAX_WBITS) == Z_OK;
    done =
        done && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == m->size;
    inflateEnd(&stream);
    tn_status status =
        done ? npy_parse(path, plain, m->size, out, diag)
             : tn_fail(diag, TN_INVALID_ARGUMENT, "'%s': a member does not unpack", path);
    free(plain);
    return status;
#else
    (void)packed;
    (void)m;
    (void)out;
    return tn_fail(diag, TN_UNSUPPORTED,
        "'%s' is compressed and this build has no zlib; write it with numpy.savez", path);
#endif
}

static tn_status read_member(const char *path, const char *data, uint64_t size,
    const struct member *m, struct tn_value **out, struct tn_diag *diag) {
    const char *p = data + m->offset;
    uint64_t start = m->offset;
    if (start > size || size - start < 30 || memcmp(p, "PK\3\4", 4) != 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' is a damaged archive", path);
    start += 30 + le16(p + 26) + le16(p + 28);
    if (start > size || m->packed > size - start)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' is a damaged archive", path);
    if (m->method == 0) return npy_parse(path, data + start, m->packed, out, diag);
    return inflate_member(path, data + start, m, out, diag);
}

tn_status npz_parse(const char *path, const char *data, uint64_t size, const char *name,
    struct tn_value **out, struct tn_diag *diag) {
    uint64_t at, n_name = name ? strlen(name) : 0;
    uint32_t n;
    struct member member;
    if (!find_directory(data, size, &at, &n))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' is not a .npz archive", path);
    for (uint32_t i = 0; i < n && next_member(data, size, &at, &member); i++) {
        bool named = name && member.name_size == n_name + 4 &&
                     memcmp(member.name, name, n_name) == 0 &&
                     memcmp(member.name + n_name, ".npy", 4) == 0;
        if (named || n == 1) return read_member(path, data, size, &member, out, diag);
    }
    return tn_fail(
        diag, TN_NOT_FOUND, "'%s' has no member '%s.npy'", path, name ? name : "");
}
