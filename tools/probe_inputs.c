/* The numbers that a probe feeds, at the end of a page that is followed by none. */
#include "probe.h"
#include "tenon/helper/shape.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* -1/4 to 1/4 in steps of 1/8, in the bits of the two narrow types: what bodies sum in them stays
 * finite. */
static uint16_t narrow(int32_t dtype, int64_t step) {
    static const uint16_t halves[] = {0xb400, 0xb000, 0, 0x3000, 0x3400};
    static const uint16_t brains[] = {0xbe80, 0xbe00, 0, 0x3e00, 0x3e80};
    return (dtype == TN_FLOAT16 ? halves : brains)[step % 5];
}

/* Small numbers of both signs for floats, 0 to 2 for integers: they may be indices. */
static void fill(struct tn_tensor *tensor, int64_t count) {
    static const struct tn_string words[] = {{"", 0}, {"a", 1}, {"Äb c", 5}, {"12", 2}};
    float *floats = tensor->data;
    double *doubles = tensor->data;
    struct tn_string *strings = tensor->data;
    uint16_t *narrows = tensor->data;
    unsigned char *bytes = tensor->data;
    uint64_t bits = tn_dtype_bits(tensor->dtype);
    for (int64_t i = 0; i < count; i++) {
        int64_t step = i * 7 % 13;
        if (tensor->dtype == TN_FLOAT)
            floats[i] = (float)(step - 6) / 4;
        else if (tensor->dtype == TN_DOUBLE)
            doubles[i] = (double)(step - 6) / 4;
        else if (tensor->dtype == TN_FLOAT16 || tensor->dtype == TN_BFLOAT16)
            narrows[i] = narrow(tensor->dtype, step);
        else if (tensor->dtype == TN_STRING)
            strings[i] = words[step % 4];
        else if (tensor->dtype == TN_BOOL || bits < 16)
            bytes[i * (int64_t)bits / 8] = (unsigned char)(step % 2);
        else /* little-endian; of 8-bit floats: zero and tiny numbers */
            bytes[i * (int64_t)bits / 8] = (unsigned char)(step % 3);
    }
}

static bool make(const struct probe_case *c, int32_t dtype, struct probe_inputs *out) {
    struct tn_tensor *tensor = &out->tensors[out->n];
    int64_t count = 1;
    uint64_t bytes = 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (uint32_t i = 0; i < c->shape->rank; i++)
        count *= c->shape->dims[i];
    if (!tn_dtype_size(dtype, count, &bytes)) return false;
    size_t room = (bytes + page - 1) / page * page;
    char *at = mmap(
        NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    if (mprotect(at + room, page, PROT_NONE) != 0) {
        munmap(at, room + page);
        return false;
    }
    *tensor = (struct tn_tensor){.data = at + room - bytes,
        .dims = c->shape->dims,
        .size = bytes,
        .dtype = dtype,
        .rank = c->shape->rank};
    fill(tensor, count);
    out->pages[out->n] = at;
    out->sizes[out->n] = room + page;
    out->values[out->n] =
        (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = tensor};
    out->n++;
    return true;
}

bool probe_inputs_make(const struct probe_case *c, struct probe_inputs *out) {
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        if (c->dtypes[i] && !make(c, c->dtypes[i], out)) {
            probe_inputs_free(out);
            return false;
        }
    }
    return true;
}

void probe_inputs_free(struct probe_inputs *inputs) {
    for (uint32_t i = 0; i < inputs->n; i++)
        munmap(inputs->pages[i], inputs->sizes[i]);
    inputs->n = 0;
}
