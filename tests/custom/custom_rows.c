/* The worked examples of plugins/custom against values computed by hand. */
#define TN_PLUGIN_TEST
#include "tenon/helper/test.h"

/* clang-format off */
TN_TESTS("com.example",
    /* Cube */
    {"g (float[2,2] x) => (float[2,2] y) { y = com.example.Cube (x) }",
        {TN_TENSOR(FLOAT, (2, 2), 0, 1, -2, 0.5)}, {TN_TENSOR(FLOAT, (2, 2), 0, 1, -8, 0.125)}},
    {"g (double[] x) => (double[] y) { y = com.example.Cube (x) }",
        {TN_SCALAR(DOUBLE, -3)}, {TN_SCALAR(DOUBLE, -27)}},
    {"g (float[0,3] x) => (float[0,3] y) { y = com.example.Cube (x) }",
        {TN_TENSOR(FLOAT, (0, 3), 0)}, {TN_TENSOR(FLOAT, (0, 3), 0)}},
    {"g (float[N] x) => (float[M] y) { a = com.example.Cube (x) y = com.example.Cube (a) }",
        {TN_TENSOR(FLOAT, (3), 1, -1, 2)}, {TN_TENSOR(FLOAT, (3), 1, -1, 512)}},
    {"g (int32[1] x) => (int32[1] y) { y = com.example.Cube (x) }",
        {TN_TENSOR(INT32, (1), 2)}, {}, "int32"},
    {"g (float[1] x) => (double[1] y) { y = com.example.Cube (x) }",
        {TN_TENSOR(FLOAT, (1), 2)}, {}, "double[1]"},

    /* Frames: 6 samples, frames of 3 every 2: 0 1 2 | 2 3 4 */
    {"g (float[6] x) => (float[F,3] y) { y = com.example.Frames <size = 3, step = 2> (x) }",
        {TN_TENSOR(FLOAT, (6), 0, 1, 2, 3, 4, 5)},
        {TN_TENSOR(FLOAT, (2, 3), 0, 1, 2, 2, 3, 4)}},
    {"g (int64[B,N] x) => (int64[B,F,S] y) { y = com.example.Frames <size = 2> (x) }",
        {TN_TENSOR(INT64, (2, 3), 1, 2, 3, 4, 5, 6)},
        {TN_TENSOR(INT64, (2, 2, 2), 1, 2, 2, 3, 4, 5, 5, 6)}},
    {"g (float[3] x) => (float[F,3] y) { y = com.example.Frames <size = 3, step = 9> (x) }",
        {TN_TENSOR(FLOAT, (3), 7, 8, 9)}, {TN_TENSOR(FLOAT, (1, 3), 7, 8, 9)}},
    {"g (float[2] x) => (float[F,3] y) { y = com.example.Frames <size = 3> (x) }",
        {TN_TENSOR(FLOAT, (2), 7, 8)}, {}, "fewer than one frame"},
    {"g (float[N] x) => (float[F,3] y) { y = com.example.Frames <size = 3> (x) }",
        {TN_TENSOR(FLOAT, (2), 7, 8)}, {}, "fewer than one frame"},
    {"g (float[4] x) => (float[F,3] y) { y = com.example.Frames (x) }",
        {TN_TENSOR(FLOAT, (4), 0)}, {}, "'size'"},
    {"g (float[4] x) => (float[F,3] y) { y = com.example.Frames <size = 3, step = 0> (x) }",
        {TN_TENSOR(FLOAT, (4), 0)}, {}, "at least 1"},
    {"g (float[] x) => (float[F,3] y) { y = com.example.Frames <size = 3> (x) }",
        {TN_SCALAR(FLOAT, 0)}, {}, "scalar"},

    /* Mix: gain there and left out; one and three inputs; none is too few */
    {"g (float[] k, float[2] a, float[2] b, float[2] c) => (float[2] y) {"
     "  y = com.example.Mix (k, a, b, c) }",
        {TN_SCALAR(FLOAT, 2), TN_TENSOR(FLOAT, (2), 1, 2), TN_TENSOR(FLOAT, (2), 10, 20),
            TN_TENSOR(FLOAT, (2), 100, 200)},
        {TN_TENSOR(FLOAT, (2), 222, 444)}},
    {"g (float[2] a, float[2] b) => (float[2] y) { y = com.example.Mix (, a, b) }",
        {TN_TENSOR(FLOAT, (2), 1, 2), TN_TENSOR(FLOAT, (2), -10, 20)},
        {TN_TENSOR(FLOAT, (2), -9, 22)}},
    {"g (float[2] a) => (float[2] y) { y = com.example.Mix (, a) }",
        {TN_TENSOR(FLOAT, (2), 1, 2)}, {TN_TENSOR(FLOAT, (2), 1, 2)}},
    {"g (float[] k) => (float[2] y) { y = com.example.Mix (k) }",
        {TN_SCALAR(FLOAT, 2)}, {}, "Mix"},
    {"g (float[2] a, float[3] b) => (float[2] y) { y = com.example.Mix (, a, b) }",
        {TN_TENSOR(FLOAT, (2), 1, 2), TN_TENSOR(FLOAT, (3), 1, 2, 3)}, {}, "different shapes"},
    {"g (float[N] a, float[M] b) => (float[N] y) { y = com.example.Mix (, a, b) }",
        {TN_TENSOR(FLOAT, (2), 1, 2), TN_TENSOR(FLOAT, (3), 1, 2, 3)}, {}, "different shapes"},
    {"g (float[1] k, float[2] a) => (float[2] y) { y = com.example.Mix (k, a) }",
        {TN_TENSOR(FLOAT, (1), 2), TN_TENSOR(FLOAT, (2), 1, 2)}, {}, "scalar"},

    /* Above: some, none, all of nothing; with and without the indices */
    {"g (float[2,3] x) => (float[N] y, int64[N] at) {"
     "  y, at = com.example.Above <threshold = 1.0> (x) }",
        {TN_TENSOR(FLOAT, (2, 3), 1, 2, -5, 7, 0, 1.5)},
        {TN_TENSOR(FLOAT, (3), 2, 7, 1.5), TN_TENSOR(INT64, (3), 1, 3, 5)}},
    {NULL, {TN_TENSOR(FLOAT, (2, 3), 0, 0, 0, 9, 0, 0)},
        {TN_TENSOR(FLOAT, (1), 9), TN_TENSOR(INT64, (1), 3)}},
    {NULL, {TN_TENSOR(FLOAT, (2, 3), 0, 0, 0, 0, 0, 0)},
        {TN_TENSOR(FLOAT, (0), 0), TN_TENSOR(INT64, (0), 0)}},
    {"g (float[N] x) => (float[M] y) { y = com.example.Above (x) }",
        {TN_TENSOR(FLOAT, (3), -1, 1, 0)}, {TN_TENSOR(FLOAT, (1), 1)}},
    {"g (float[N] x) => (float[M] z) { y = com.example.Above (x) z = com.example.Cube (y) }",
        {TN_TENSOR(FLOAT, (3), 3, 1, 0)}, {TN_TENSOR(FLOAT, (2), 27, 1)}},
    {"g (float[N] x) => (float[M] y) { y = com.example.Above (x) }",
        {TN_TENSOR(FLOAT, (0), 0)}, {TN_TENSOR(FLOAT, (0), 0)}},

    /* Delay: the run before, zeros first; each shape has its own past */
    {"g (float[N] x) => (float[N] y) { y = com.example.Delay (x) }",
        {TN_TENSOR(FLOAT, (2), 1, 2)}, {TN_TENSOR(FLOAT, (2), 0, 0)}},
    {NULL, {TN_TENSOR(FLOAT, (2), 3, 4)}, {TN_TENSOR(FLOAT, (2), 1, 2)}},
    {NULL, {TN_TENSOR(FLOAT, (1), 5)}, {TN_TENSOR(FLOAT, (1), 0)}},
    {NULL, {TN_TENSOR(FLOAT, (2), 0, 0)}, {TN_TENSOR(FLOAT, (2), 3, 4)}},
    {"g (int64[2] x) => (int64[2] y, int64[2] z) {" /* equal nodes stay two */
     "  y = com.example.Delay (x) a = com.example.Delay (x) z = com.example.Delay (a) }",
        {TN_TENSOR(INT64, (2), 1, 2)}, {TN_TENSOR(INT64, (2), 0, 0), TN_TENSOR(INT64, (2), 0, 0)}},
    {NULL, {TN_TENSOR(INT64, (2), 3, 4)},
        {TN_TENSOR(INT64, (2), 1, 2), TN_TENSOR(INT64, (2), 0, 0)}},
    {NULL, {TN_TENSOR(INT64, (2), 5, 6)},
        {TN_TENSOR(INT64, (2), 3, 4), TN_TENSOR(INT64, (2), 1, 2)}},

    /* Iterate: x ← 2x + b, b from outside the body; 0 turns; bodies that do not fit */
    {"g (float[2] x, float[2] b) => (float[2] y) {"
     "  y = com.example.Iterate <times = 3, body = f (float[2] s) => (float[2] r) {"
     "    d = Add (s, s) r = Add (d, b) }> (x) }",
        {TN_TENSOR(FLOAT, (2), 1, 0), TN_TENSOR(FLOAT, (2), 1, 2)},
        {TN_TENSOR(FLOAT, (2), 15, 14)}},
    {"g (int64[N] x) => (int64[N] y) {"
     "  y = com.example.Iterate <times = 0, body = f (int64[N] s) => (int64[N] r) {"
     "    r = Add (s, s) }> (x) }",
        {TN_TENSOR(INT64, (2), 1, 7)}, {TN_TENSOR(INT64, (2), 1, 7)}},
    {"g (float[2] x) => (float[2] y) {"
     "  y = com.example.Iterate <times = 2, body = f (float[2] s) => (int64[2] r) {"
     "    r = Cast <to = 7> (s) }> (x) }",
        {TN_TENSOR(FLOAT, (2), 1, 0)}, {}, "float"},
    {"g (float[N] x) => (float[N] y) {"
     "  y = com.example.Iterate <times = 2, body = f (float[A] s) => (float[B] r) {"
     "    r = Concat <axis = 0> (s, s) }> (x) }",
        {TN_TENSOR(FLOAT, (2), 1, 0)}, {}, "shape"},
    {"g (float[2] x) => (float[2] y) { y = com.example.Iterate (x) }",
        {TN_TENSOR(FLOAT, (2), 1, 0)}, {}, "'body'"},

    /* SparseMatMul: constant weights are packed, others read; rows of zeros */
    {"g (float[2,3] x) => (float[2,2] y) <float[3,2] w = {0.0, 2.0, 0.0, 0.0, -1.0, 0.0}> {"
     "  y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (2, 3), 1, 2, 3, 4, 5, 6)}, {TN_TENSOR(FLOAT, (2, 2), -3, 2, -6, 8)}},
    {"g (float[M,3] x, float[3,2] w) => (float[M,2] y) { y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (2, 3), 1, 2, 3, 4, 5, 6), TN_TENSOR(FLOAT, (3, 2), 0, 2, 0, 0, -1, 0)},
        {TN_TENSOR(FLOAT, (2, 2), -3, 2, -6, 8)}},
    {"g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {0.0, 0.0}> {"
     "  y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (1, 2), 1, 2)}, {TN_TENSOR(FLOAT, (1, 1), 0)}},
    {"g (float[M,2] x, float[2,0] w) => (float[M,0] y) { y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (1, 2), 1, 2), TN_TENSOR(FLOAT, (2, 0), 0)},
        {TN_TENSOR(FLOAT, (1, 0), 0)}},
    {"g (float[1,2] x, float[3,1] w) => (float[1,1] y) { y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (1, 2), 1, 2), TN_TENSOR(FLOAT, (3, 1), 0)}, {}, "2 columns and W 3 rows"},
    {"g (float[M,K] x, float[L,N] w) => (float[M,N] y) { y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (1, 2), 1, 2), TN_TENSOR(FLOAT, (3, 1), 0)}, {}, "2 columns and W 3 rows"},
    {"g (float[2] x, float[2,1] w) => (float[1] y) { y = com.example.SparseMatMul (x, w) }",
        {TN_TENSOR(FLOAT, (2), 1, 2), TN_TENSOR(FLOAT, (2, 1), 0)}, {}, "expected 2"},

    /* RmsScale: 3 / sqrt((9 + 1) / 2) = 1.3416408; an epsilon of 4 makes sqrt(5 + 4) = 3 */
    {"g (float[2,2] x, float[2] s) => (float[2,2] y) { y = com.example.RmsScale (x, s) }",
        {TN_TENSOR(FLOAT, (2, 2), 3, 1, -2, 2), TN_TENSOR(FLOAT, (2), 1, 10)},
        {TN_TENSOR(FLOAT, (2, 2), 1.3416394, 4.4721315, -0.99999875, 9.9999875)}},
    {"g (double[1,2] x, double[] s) => (double[1,2] y) {"
     "  y = com.example.RmsScale <epsilon = 4.0> (x, s) }",
        {TN_TENSOR(DOUBLE, (1, 2), 3, 1), TN_SCALAR(DOUBLE, 3)}, {TN_TENSOR(DOUBLE, (1, 2), 3, 1)}});
/* clang-format on */
