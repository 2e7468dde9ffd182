/* Tensors in files: see tensor_file.h. */
#include "tensor_file.h"

#include "npy.h"
#include "number.h"
#include "tenon/helper/diag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

tn_status file_read(
    const char *path, char **out_data, uint64_t *out_size, struct tn_diag *diag) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
        int error = file ? EINVAL : errno;
        if (file) fclose(file);
        return tn_fail(diag, error == ENOENT ? TN_NOT_FOUND : TN_IO,
            "cannot read '%s': %s", path,
            error == EINVAL ? "not a regular file" : strerror(error));
    }
    uint64_t size = (uint64_t)info.st_size;
    char *data = malloc(size + 1);
    bool done = data && fread(data, 1, size, file) == size;
    fclose(file);
    if (!done) {
        free(data);
        return tn_fail(
            diag, TN_IO, "cannot read '%s' (%llu bytes)", path, (unsigned long long)size);
    }
    data[size] = '\0';
    *out_data = data;
    *out_size = size;
    return TN_OK;
}

static tn_status read_raw(const char *path, const char *data, uint64_t size,
    const struct tn_type *type, struct tn_value **out, struct tn_diag *diag) {
    uint64_t n = 1, bits = tn_dtype_bits(type->dtype);
    if (type->kind != TN_KIND_TENSOR || type->rank < 0 || type->dtype == TN_STRING)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'%s': raw bytes can only fill a tensor of numbers with a known rank", path);
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "'%s': dimension %d is not known; give it with --shape", path, i);
        if (__builtin_mul_overflow(n, (uint64_t)type->dims[i], &n) ||
            n > UINT64_MAX / 128)
            return tn_fail(
                diag, TN_INVALID_ARGUMENT, "'%s': the shape is too large", path);
    }
    if ((n * bits + 7) / 8 != size)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'%s' has %llu bytes, its shape and type need %llu", path,
            (unsigned long long)size, (unsigned long long)((n * bits + 7) / 8));
    return tn_value_tensor(
        type->dtype, type->dims, (uint32_t)type->rank, data, out, diag);
}

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

/* What is wrong with a value, in which file. */
static tn_status parse_value(const char *path, const char *data, uint64_t size,
    const struct tn_type *type, struct tn_value **out, struct tn_diag *diag) {
    tn_status status = tn_value_parse(data, size, type, out, diag);
    if (status == TN_OK) return TN_OK;
    const struct tn_diag found = *diag;
    snprintf(diag->message, sizeof diag->message, "'%.200s': %.*s", path,
        (int)(sizeof found.message - 210), found.message);
    return status;
}

tn_status tensor_file_read(const char *path, const char *name, const struct tn_type *type,
    struct tn_value **out, struct tn_diag *diag) {
    char *data;
    uint64_t size;
    tn_status status;
    TN_TRY(file_read(path, &data, &size, diag));
    if (ends_with(path, ".npy"))
        status = npy_parse(path, data, size, out, diag);
    else if (ends_with(path, ".npz"))
        status = npz_parse(path, data, size, name, out, diag);
    else if (ends_with(path, ".pb"))
        status = parse_value(path, data, size, type, out, diag);
    else if (ends_with(path, ".bin") || ends_with(path, ".raw"))
        status = read_raw(path, data, size, type, out, diag);
    else
        status = tn_fail(
            diag, TN_INVALID_ARGUMENT, "'%s' is neither .npy, .npz, .bin nor .pb", path);
    free(data);
    return status;
}

/* The numpy type in which a type is stored, and whether its elements are converted. */
static const char *npy_descr(int32_t dtype, int32_t *out_stored) {
    static const struct {
        int32_t dtype, stored;
        const char *descr;
    } rows[] = {{TN_FLOAT, TN_FLOAT, "<f4"}, {TN_DOUBLE, TN_DOUBLE, "<f8"},
        {TN_FLOAT16, TN_FLOAT16, "<f2"}, {TN_INT8, TN_INT8, "|i1"},
        {TN_UINT8, TN_UINT8, "|u1"}, {TN_INT16, TN_INT16, "<i2"},
        {TN_UINT16, TN_UINT16, "<u2"}, {TN_INT32, TN_INT32, "<i4"},
        {TN_UINT32, TN_UINT32, "<u4"}, {TN_INT64, TN_INT64, "<i8"},
        {TN_UINT64, TN_UINT64, "<u8"}, {TN_BOOL, TN_BOOL, "|b1"},
        {TN_COMPLEX64, TN_COMPLEX64, "<c8"}, {TN_COMPLEX128, TN_COMPLEX128, "<c16"},
        {TN_INT4, TN_INT8, "|i1"}, {TN_INT2, TN_INT8, "|i1"}, {TN_UINT4, TN_UINT8, "|u1"},
        {TN_UINT2, TN_UINT8, "|u1"}, {TN_STRING, TN_STRING, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].dtype != dtype) continue;
        *out_stored = rows[i].stored;
        return rows[i].descr;
    }
    *out_stored = TN_FLOAT;
    return "<f4";
}

static bool write_header(FILE *file, const char *descr, const struct tn_tensor *tensor) {
    char header[1024];
    int n = snprintf(header, sizeof header,
        "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < tensor->rank && n < 900; i++)
        n += snprintf(header + n, sizeof header - (size_t)n, "%lld,%s",
            (long long)tensor->dims[i], i + 1 < tensor->rank ? " " : "");
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    unsigned length =
        ((unsigned)n + 1 + 10 + 63) / 64 * 64 - 10; /* data starts aligned */
    const unsigned char magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0,
        (unsigned char)length, (unsigned char)(length >> 8)};
    return fwrite(magic, 1, sizeof magic, file) == sizeof magic &&
           fprintf(file, "%-*s\n", (int)length - 1, header) == (int)length;
}

/* Strings as fixed-width UCS-4, as numpy does. */
static bool write_strings(FILE *file, const struct tn_tensor *tensor) {
    const struct tn_string *strings = tensor->data;
    uint64_t n = number_count(tensor), widest = 1;
    for (uint64_t i = 0; i < n; i++)
        widest = strings[i].size > widest ? strings[i].size : widest;
    char descr[32];
    snprintf(descr, sizeof descr, "<U%llu", (unsigned long long)widest);
    if (!write_header(file, descr, tensor)) return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        for (uint64_t k = 0; k < widest; k++) {
            uint32_t code = npy_decode_utf8(&strings[i], &at);
            if (fwrite(&code, sizeof code, 1, file) != 1) return false;
        }
    }
    return true;
}

static bool write_numbers(
    FILE *file, const struct tn_tensor *tensor, const char *descr, int32_t stored) {
    if (!write_header(file, descr, tensor)) return false;
    if (stored == tensor->dtype)
        return fwrite(tensor->data, 1, tensor->size, file) == tensor->size;
    for (uint64_t i = 0, n = number_count(tensor); i < n; i++) {
        double value = number_at(tensor->dtype, tensor->data, i);
        float f = (float)value;
        int8_t byte = (int8_t)value;
        const void *element = stored == TN_FLOAT ? (const void *)&f : (const void *)&byte;
        if (fwrite(element, tn_dtype_bits(stored) / 8, 1, file) != 1) return false;
    }
    return true;
}

tn_status tensor_file_write(
    const char *path, const struct tn_tensor *tensor, struct tn_diag *diag) {
    int32_t stored;
    const char *descr = npy_descr(tensor->dtype, &stored);
    FILE *file = fopen(path, "wb");
    if (!file)
        return tn_fail(diag, TN_IO, "cannot write '%s': %s", path, strerror(errno));
    bool done =
        descr ? write_numbers(file, tensor, descr, stored) : write_strings(file, tensor);
    if (fclose(file) != 0 || !done)
        return tn_fail(diag, TN_IO, "cannot write '%s': the disk may be full", path);
    return TN_OK;
}
