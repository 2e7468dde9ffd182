/* Where the elements of a resized axis come from, and with what weights. */
#include "ops/resize_table.h"

#include "tenon/helper/diag.h"

#include <math.h>

/* clang-format off */
const char *const tn__resize_coordinates[] = {"half_pixel", "asymmetric", "align_corners",
    "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn",
    NULL};
const char *const tn__resize_nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
    "ceil", NULL};
/* clang-format on */
enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, PYTORCH, SYMMETRIC, CROP, HALF_NN };

/* One axis: `length` is the exact product of scale and size, which need not be whole. */
struct axis {
    const struct tn__resize_rule *rule;
    double in, out, scale, length, start, end;
};

static double original(const struct axis *a, double x) {
    double half = (x + 0.5) / a->scale - 0.5;
    switch (a->rule->coordinates) {
    case ASYMMETRIC: return x / a->scale;
    case ALIGN_CORNERS: return a->length == 1 ? 0 : x * (a->in - 1) / (a->length - 1);
    case PYTORCH: return a->length > 1 ? half : 0;
    case SYMMETRIC: /* one division: whole coordinates come out whole */
        return (x + 0.5 + (a->length - a->out) / 2) / a->scale - 0.5;
    case CROP:
        if (a->length <= 1) return 0.5 * (a->start + a->end) * (a->in - 1);
        return a->start * (a->in - 1) +
               x * (a->end - a->start) * (a->in - 1) / (a->length - 1);
    case HALF_NN: return (x + 0.5) / a->scale;
    default: return half;
    }
}

static double cubic(double a, double x) {
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

/* Weight of the neighbour `offset` pixels from the one on the left; ratio is in (0, 1]. */
static double weigh(const struct axis *a, double offset, double ratio) {
    const struct tn__resize_rule *rule = a->rule;
    double shrink = rule->antialias && a->scale < 1 ? a->scale : 1;
    double distance = (offset - ratio) * shrink;
    if (rule->mode == 2) return cubic(rule->cubic, distance);
    if (rule->mode == 1) return fmax(0, 1 - fabs(distance));
    bool right;
    switch (rule->nearest) {
    case 0: right = ratio > 0.5; break;
    case 1: right = ratio >= 0.5; break;
    case 2: right = ratio >= 1; break;
    default: right = true;
    }
    return offset == (right ? 1 : 0);
}

static size_t count_taps(const struct axis *a) {
    double reach = a->rule->mode == 2 ? 2 : 1;
    if (a->rule->mode == 0 || !a->rule->antialias || a->scale >= 1)
        return (size_t)(2 * reach);
    double first = floor(-reach / a->scale) + 1;
    double most = 2 * reach * a->in + 2; /* no scale that gives an output needs more */
    return (size_t)fmin(2 - 2 * first, most);
}

static void fill(struct tn__resize_table *t, const struct axis *a, size_t o) {
    double x = original(a, (double)o), left = floor(x);
    if (left == x)
        left -= 1; /* the pixel on the left of x, x itself being on the right */
    double ratio = x - left, first = 1 - (double)(t->taps / 2), total = 0;
    size_t *index = t->index + o * t->taps;
    double *weight = t->weight + o * t->taps;
    t->outside[o] = a->rule->coordinates == CROP && (x < 0 || x > a->in - 1);
    for (size_t k = 0; k < t->taps; k++) {
        double at = left + first + (double)k, inside = fmin(fmax(at, 0), a->in - 1);
        index[k] = (size_t)inside;
        weight[k] = weigh(a, first + (double)k, ratio);
        if (a->rule->exclude_outside && at != inside) weight[k] = 0;
        total += weight[k];
    }
    if (a->rule->exclude_outside || a->rule->antialias)
        for (size_t k = 0; k < t->taps && total != 0; k++)
            weight[k] /= total;
    if (a->rule->mode != 0) return;
    for (size_t k = 1; k < t->taps; k++) /* nearest reads one element: the first */
        if (weight[k] != 0) {
            index[0] = index[k];
            weight[0] = 1;
            weight[k] = 0;
        }
}

tn_status tn__resize_table_make(struct tn__resize_table *table, const struct tn_run *run,
    const struct tn__resize_rule *rule, size_t in, size_t out, double scale, double start,
    double end) {
    struct axis a = {
        rule, (double)in, (double)out, scale, scale * (double)in, start, end};
    table->taps = count_taps(&a);
    uint64_t cells = (uint64_t)out * table->taps;
    if (cells > UINT64_MAX / 32)
        return tn_fail(
            run->diag, TN_OUT_OF_MEMORY, "a resized axis of %zu is too long", out);
    char *memory = run->alloc(
        run, cells * (sizeof(size_t) + sizeof(double)) + out * sizeof(bool), 64);
    if (!memory) return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for a table");
    table->index = (size_t *)memory;
    table->weight = (double *)(memory + cells * sizeof(size_t));
    table->outside = (bool *)(memory + cells * (sizeof(size_t) + sizeof(double)));
    for (size_t o = 0; o < out; o++)
        fill(table, &a, o);
    return TN_OK;
}
