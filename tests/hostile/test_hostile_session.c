/* Hostile files and models through a whole session: real models cut short and damaged, and
 * sentences of the text format that ask for what cannot be. Each is refused with a code and
 * a sentence, or runs; the sanitizers see that nothing is overrun or lost. */
#include "../unit/unit.h"

#include "tensor_file.h"
#include "trial.h"

#include <pthread.h>
#include <stdio.h>

static const char *const real_models[] = {"tests/data/cnn.onnx",
    "tests/data/encoder_17.onnx", "examples/digits/digits.onnx",
    "tests/data/layer_new.onnx"};
enum { MODELS = sizeof real_models / sizeof real_models[0], FLIPS = 10000 };

static char *read_model(const char *name, uint64_t *out_size) {
    char path[1024], *data = NULL;
    const char *top = getenv("TENON_TEST_SOURCE");
    struct tn_diag diag = {0};
    snprintf(path, sizeof path, "%s/%s", top ? top : ".", name);
    assert_ok(file_read(path, &data, out_size, &diag), diag);
    return data;
}

/* A trial of a copy of exactly this size, so that a read past its end is seen. */
static void try_copy(
    struct tn_runtime *runtime, const char *data, size_t size, struct trial *out) {
    char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    trial_model(runtime, copy, size, NULL, 0, NULL, out);
    free(copy);
    ck_assert_msg(!out->complaint[0], "%s", out->complaint);
}

START_TEST(a_model_cut_at_every_64th_byte_is_refused) {
    struct tn_runtime *runtime = trial_runtime();
    uint64_t size = 0;
    char *data = read_model(real_models[_i], &size);
    /* large weights are dull: most cuts lie among the nodes and the last bytes */
    for (uint64_t n = 0; n<size; n += n> 65536 && size - n > 65536 ? 4096 : 64) {
        struct trial trial;
        try_copy(runtime, data, n, &trial);
        ck_assert_msg(trial.status != TN_OK || n == 0, "%llu bytes of %s ran",
            (unsigned long long)n, real_models[_i]);
    }
    free(data);
    tn_runtime_destroy(runtime);
}
END_TEST

START_TEST(random_byte_flips_do_no_harm) {
    struct tn_runtime *runtime = trial_runtime();
    struct chance chance = {2026};
    uint64_t size = 0;
    char *data = read_model(real_models[_i], &size);
    for (int i = 0; i < FLIPS / MODELS; i++) {
        struct trial trial;
        /* half of them at the end, where the graph's description stands, or at the front */
        uint64_t near = size < 4096 ? size : 4096, at = chance_below(&chance, size);
        if (i % 4 == 1) at = chance_below(&chance, near);
        if (i % 4 == 2) at = size - 1 - chance_below(&chance, near);
        char old = data[at];
        data[at] = (char)(data[at] ^ (int)(1 + chance_below(&chance, 255)));
        try_copy(runtime, data, size, &trial);
        data[at] = old;
    }
    free(data);
    tn_runtime_destroy(runtime);
}
END_TEST

/* ---- sentences that ask for what cannot be ------------------------------------------------ */

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g "

static const struct {
    const char *what, *text;
    tn_status status;
} cases[] = {
    /* clang-format off */
    {"a petabyte as a constant's shape", HEAD "() => (float[N,M] y) {"
        " s = Constant <value = int64[2] {1073741824, 1048576}> () y = ConstantOfShape (s) }",
        TN_LIMIT_EXCEEDED},
    {"a petabyte by expansion", HEAD "(float[1] x) => (float[N,M] y) {"
        " s = Constant <value = int64[2] {1073741824, 1048576}> () y = Expand (x, s) }",
        TN_LIMIT_EXCEEDED},
    {"a petabyte by tiling", HEAD "(float[1,1] x) => (float[N,M] y) {"
        " s = Constant <value = int64[2] {1073741824, 1048576}> () y = Tile (x, s) }",
        TN_LIMIT_EXCEEDED},
    {"a petabyte of a range", HEAD "() => (int64[N] y) { a = Constant <value_int = 0> ()"
        " b = Constant <value_int = 1125899906842624> () c = Constant <value_int = 1> ()"
        " y = Range (a, b, c) }", TN_LIMIT_EXCEEDED},
    {"a petabyte of padding", HEAD "(float[1] x) => (float[N] y) {"
        " p = Constant <value = int64[2] {0, 1125899906842624}> () y = Pad (x, p) }",
        TN_LIMIT_EXCEEDED},
    {"a petabyte of resizing", HEAD "(float[1,1] x) => (float[N,M] y) {"
        " s = Constant <value = int64[2] {1073741824, 1048576}> ()"
        " y = Resize <mode = \"nearest\"> (x, \"\", \"\", s) }", TN_LIMIT_EXCEEDED},
    {"a petabyte of eyes", HEAD "() => (float[N,M] y) {"
        " s = Constant <value = int64[2] {1073741824, 1048576}> ()"
        " x = ConstantOfShape (s) y = EyeLike (x) }", TN_LIMIT_EXCEEDED},
    {"dims whose product overflows", HEAD "() => (float[N,M,K] y) { s = Constant"
        " <value = int64[3] {4611686018427387904, 4, 4}> () y = ConstantOfShape (s) }",
        TN_LIMIT_EXCEEDED},
    {"an input of a petabyte, declared", HEAD
        "(float[1073741824,1048576] x) => (float[N,M] y) { y = Abs (x) }",
        TN_INVALID_ARGUMENT},
    {"an empty tensor with a huge side", HEAD "() => (float[N,M] y) {"
        " s = Constant <value = int64[2] {4611686018427387904, 0}> ()"
        " x = ConstantOfShape (s) y = Concat <axis = 1> (x, x) }", TN_LIMIT_EXCEEDED},
    {"a cycle", HEAD "(float[1] x) => (float[1] y) { y = Add (x, z) z = Neg (y) }",
        TN_INVALID_MODEL},
    {"a node that waits for itself", HEAD "(float[1] x) => (float[1] y) { y = Add (x, y) }",
        TN_INVALID_MODEL},
    {"a name made twice", HEAD "(float[1] x) => (float[1] y) { y = Neg (x) y = Abs (x) }",
        TN_INVALID_MODEL},
    {"an output that nobody makes", HEAD "(float[1] x) => (float[1] y) { z = Abs (x) }",
        TN_INVALID_MODEL},
    {"a variadic input that is omitted", HEAD
        "(float[2] x) => (float[N] y) { y = Concat <axis = 0> (x, \"\", x) }", TN_INVALID_MODEL},
    {"an operand of an equation that is omitted", HEAD
        "(float[2] x) => (float[N] y) { y = Einsum <equation = \"i,i->i\"> (x, \"\") }",
        TN_INVALID_MODEL},
    {"a quantised type that does not exist", HEAD
        "(float[4] x, float s) => (int16[4] y) {"
        " y = QuantizeLinear <output_dtype = 4611686018427387904> (x, s) }", TN_INVALID_MODEL},
    {"a type that wraps to one that exists", HEAD
        "(float[4,4] x) => (float[4,4] y) { y = EyeLike <dtype = 4294967297> (x) }",
        TN_INVALID_MODEL},
    {"a quantised type that is not one", HEAD
        "(float[4] x, float s) => (float[4] y) { y = QuantizeLinear <output_dtype = 1> (x, s) }",
        TN_INVALID_MODEL},
    {"parts whose sum overflows", HEAD "(float[4] x) => (float[N] y, float[M] z) {"
        " s = Constant <value = int64[2] {9223372036854775807, 5}> () y, z = Split (x, s) }",
        TN_INVALID_ARGUMENT},
    {"a scale without elements", HEAD "(uint8[2,2] a, float[0] s, uint8 z) => (uint8[2,2] y)"
        " { y = QLinearMatMul (a, s, z, a, s, z, s, z) }", TN_INVALID_ARGUMENT},
    {"an output shape below zero", HEAD "(float[1,1,4] x, float[1,1,3] w) => (float[N,M,K] y)"
        " { y = ConvTranspose <output_shape = [-9223372036854775808]> (x, w) }",
        TN_INVALID_ARGUMENT},
    {"groups that overflow", HEAD "(float[1,2,4] x, float[2,2,3] w) => (float[N,M,K] y)"
        " { y = Conv <group = 9223372036854775806> (x, w) }", TN_INVALID_ARGUMENT},
    {"an axis of old broadcasting that overflows", "<ir_version: 3, opset_import: [\"\" : 6]> g"
        " (float[2,3] x, float[2] z) => (float[2,3] y)"
        " { y = Add <axis = 9223372036854775806, broadcast = 1> (x, z) }", TN_INVALID_MODEL},
    {"a window over a side that overflows", HEAD "(float[1,1,9223372036854775807] x) =>"
        " (float[N,M,K] y) { y = MaxPool <auto_pad = \"SAME_UPPER\", kernel_shape = [3]> (x) }",
        TN_LIMIT_EXCEEDED},
    {"padding that overflows", HEAD "(float[1,1,4] x, float[1,1,3] w) => (float[N,M,K] y)"
        " { y = ConvTranspose <pads = [9223372036854775807, 9223372036854775807]> (x, w) }",
        TN_INVALID_MODEL},
    {"a bias shorter than the filters", HEAD
        "(float[1,1,8,8] x, float[64,1,3,3] w, float[1] b) => (float[N,M,K,L] y)"
        " { y = Conv (x, w, b) }", TN_INVALID_ARGUMENT},
    {"a constant bias shorter than the filters", HEAD
        "(float[1,1,8,8] x, float[64,1,3,3] w) => (float[N,M,K,L] y)"
        " { b = Constant <value = float[1] {1}> () y = Conv (x, w, b) }", TN_INVALID_ARGUMENT},
    {"a bias shorter than the transposed filters", HEAD
        "(float[1,1,8,8] x, float[1,64,3,3] w, float[1] b) => (float[N,M,K,L] y)"
        " { y = ConvTranspose (x, w, b) }", TN_INVALID_ARGUMENT},
    {"a bias shorter than the quantised filters", HEAD
        "(uint8[1,1,8,8] x, float s, uint8 z, uint8[64,1,3,3] w, int32[1] b)"
        " => (uint8[N,M,K,L] y) { y = QLinearConv (x, s, z, w, s, z, s, z, b) }",
        TN_INVALID_ARGUMENT},
    {"attention without its result", "<ir_version: 10, opset_import: [\"\" : 23]> g"
        " (float[1,1,2,4] q) => (float[N,M,K,L] w) { \"\", \"\", \"\", w = Attention (q, q, q) }",
        TN_INVALID_MODEL},
    {"a node without inputs that is upgraded", "<ir_version: 7, opset_import: [\"\" : 11]> g"
        " (float[2] x) => (float[N] y) { y = Softmax () }", TN_INVALID_MODEL},
    {"a resize without scales", "<ir_version: 7, opset_import: [\"\" : 10]> g"
        " (float[2] x) => (float[N] y) { y = Resize (x) }", TN_INVALID_MODEL},
    {"scales that are no floats", "<ir_version: 7, opset_import: [\"\" : 7]> g"
        " (float[1,1,2,2] x) => (float[N,M,K,L] y) { y = Upsample <scales = [1, 2]> (x) }",
        TN_INVALID_MODEL},
    {"a loop body with an input too many", HEAD "(int64 n, bool c, float[2] x) => (float[2] y)"
        " { y = Loop <body: graph = b (int64 i, bool d, float[2] v, float[2] w) =>"
        " (bool e, float[2] z) { e = Identity (d) z = Add (v, w) }> (n, c, x) }",
        TN_INVALID_MODEL},
    {"a scan body that lies about its output", HEAD "(float[] s, float[5] x) =>"
        " (float[] y, float[] z) { y, z = Scan <num_scan_inputs = 1, body: graph = b"
        " (float[] a, float b) => (float[] c, float d) { c = Add (a, b) d = Identity (c) }>"
        " (x, x) }", TN_OK}, /* the shape is warned of; what the nodes make counts */
    /* clang-format on */
};

START_TEST(what_cannot_be_is_refused) {
    struct tn_runtime *runtime = trial_runtime();
    struct trial trial;
    trial_model(runtime, cases[_i].text, strlen(cases[_i].text), NULL, 0, NULL, &trial);
    ck_assert_msg(!trial.complaint[0], "%s: %s", cases[_i].what, trial.complaint);
    ck_assert_msg(trial.status == cases[_i].status, "%s: code %d, expected %d: %s",
        cases[_i].what, trial.status, cases[_i].status, trial.message);
    tn_runtime_destroy(runtime);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_loop_test(tests, a_model_cut_at_every_64th_byte_is_refused, 0, MODELS);
    tcase_add_loop_test(tests, random_byte_flips_do_no_harm, 0, MODELS);
    tcase_add_loop_test(
        tests, what_cannot_be_is_refused, 0, sizeof cases / sizeof cases[0]);
}

UNIT_MAIN("hostile session")
