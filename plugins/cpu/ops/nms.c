/* NonMaxSuppression: for each image and class the boxes that overlap no better one. */
#include "ops/ops.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NMS_ATTRS(X, S) X(S, INT, center_point_box, 0)
TN_ATTR_TABLE(nms, NMS_ATTRS)

static tn_status infer_nms(const struct tn_infer *infer) {
    int64_t dims[2] = {TN_DIM_UNKNOWN, 3};
    return tn_infer_set(infer, 0, TN_INT64, 2, dims);
}

struct nms {
    struct tn__kernel base;
    bool center;
};

static tn_status create_nms(const struct tn_kernel_ctx *ctx, void **out) {
    struct nms_attrs attrs;
    TN_TRY(TN_ATTRS_READ(nms, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct nms), out));
    ((struct nms *)*out)->center = attrs.center_point_box != 0;
    return TN_OK;
}

struct candidate {
    float score;
    int64_t index;
};

struct box {
    float y0, x0, y1, x1;
};

/* Best score first, ties by index. */
static int compare(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct box read_box(const float *v, bool center) {
    if (center)
        return (struct box){
            v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return (struct box){
        fminf(v[0], v[2]), fminf(v[1], v[3]), fmaxf(v[0], v[2]), fmaxf(v[1], v[3])};
}

static float overlap(struct box a, struct box b) {
    float h = fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0),
          w = fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0);
    float both = h > 0 && w > 0 ? h * w : 0;
    float area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
    float all = area_a + area_b - both;
    return both > 0 && all > 0 ? both / all : 0;
}

/* One call: limits and where the chosen go. */
struct choice {
    const struct nms *nms;
    int64_t boxes, most;
    float threshold;
    struct candidate *candidates;
    int64_t *out; /* triples */
    int64_t n;
};

static void choose(
    struct choice *c, const float *boxes, int64_t n, int64_t image, int64_t label) {
    int64_t first = c->n;
    for (int64_t i = 0; i < n && c->n - first < c->most; i++) {
        int64_t index = c->candidates[i].index;
        struct box box = read_box(boxes + 4 * index, c->nms->center);
        bool kept = true;
        for (int64_t j = first; j < c->n && kept; j++) {
            struct box other = read_box(boxes + 4 * c->out[3 * j + 2], c->nms->center);
            kept = !(overlap(box, other) > c->threshold);
        }
        if (!kept) continue;
        c->out[3 * c->n] = image;
        c->out[3 * c->n + 1] = label;
        c->out[3 * c->n + 2] = index;
        c->n++;
    }
}

static float scalar(const struct tn_tensor *t, float absent) {
    return t && t->data && tn_tensor_count(t) > 0 ? *(const float *)t->data : absent;
}

static tn_status compute_nms(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *boxes = args->inputs[0].as.tensor;
    const struct tn_tensor *scores = args->inputs[1].as.tensor, *most = tn_in(args, 2);
    struct choice c = {.nms = kernel};
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "boxes and scores do not fit: expected (images, boxes, 4) and (images, "
            "classes, boxes)");
    int64_t images = scores->dims[0], classes = scores->dims[1];
    c.boxes = boxes->dims[1];
    c.most = most && tn_tensor_count(most) > 0 ? tn_tensor_int(most, 0) : 0;
    if (c.most < 0) c.most = 0;
    if (c.most > c.boxes) c.most = c.boxes;
    c.threshold = scalar(tn_in(args, 3), 0);
    float least = scalar(tn_in(args, 4), -INFINITY);
    uint64_t triples = (uint64_t)(images * classes) * (uint64_t)c.most;
    c.candidates =
        args->run->alloc(args->run, (uint64_t)(c.boxes + 1) * sizeof *c.candidates, 64);
    c.out = args->run->alloc(args->run, (triples + 1) * 3 * sizeof(int64_t), 64);
    if (!c.candidates || !c.out)
        return tn_fail(args->run->diag, TN_OUT_OF_MEMORY, "no memory for the boxes");
    for (int64_t i = 0; i < images * classes && c.most > 0; i++) {
        const float *score = (const float *)scores->data + i * c.boxes;
        int64_t n = 0;
        for (int64_t b = 0; b < c.boxes; b++)
            if (score[b] > least) c.candidates[n++] = (struct candidate){score[b], b};
        qsort(c.candidates, (size_t)n, sizeof *c.candidates, compare);
        TN_TRY(args->run->interrupted(args->run));
        choose(&c, (const float *)boxes->data + i / classes * c.boxes * 4, n, i / classes,
            i % classes);
    }
    int64_t dims[2] = {c.n, 3};
    struct tn_tensor *y = NULL;
    TN_TRY(tn_out_shaped(args, 0, TN_INT64, dims, 2, &y));
    if (c.n > 0) memcpy(y->data, c.out, (size_t)c.n * 3 * sizeof(int64_t));
    return TN_OK;
}

/* clang-format off */
#define OPTIONAL TN_FORMAL_OPTIONAL
static const struct tn_op_def defs[] = {
    {TN_DEF("", "NonMaxSuppression"), TN_VERSIONS({10}, {11}),
        TN_INPUTS({"boxes", NULL, TN_BIT(FLOAT)}, {"scores", NULL, TN_BIT(FLOAT)},
            {"max_output_boxes_per_class", NULL, TN_BIT(INT64), OPTIONAL},
            {"iou_threshold", NULL, TN_BIT(FLOAT), OPTIONAL},
            {"score_threshold", NULL, TN_BIT(FLOAT), OPTIONAL}),
        TN_OUTPUTS({"selected_indices", NULL, TN_BIT(INT64)}),
        TN_ATTRS(nms), .infer = infer_nms},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "NonMaxSuppression", 11), .create = create_nms, .compute = compute_nms},
};
/* clang-format on */

TN_FAMILY(nms);
