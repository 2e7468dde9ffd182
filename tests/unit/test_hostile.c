/* Hostile files: cut short, damaged, nested without end. Nothing crashes, hangs or leaks
 * (the sanitizers look), and every refusal has a code and a sentence. */
#include "model_bytes.h"
#include "unit.h"

#include "core/base/alloc.h"
#include "core/model/rules.h"

#include <pthread.h>

/* A model with a bit of everything. */
static const char everything[] =
    "<ir_version: 9, opset_import: [\"\" : 17, \"d\" : 1], producer_name: \"tests\","
    " metadata_props: [\"k\" : \"v\"]>\n"
    "g (float[N,4] x, float[4] bias = {1, 2, 3, 4}, seq(map(int64, float)) s, bool[] c)"
    " => (float[N,4] y, float[N,4] z)\n"
    "<float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, string[2] names ="
    " {\"a\\x00b\", \"\"}, int4[3] small = {-1, 2, 3}, float16[2] half = {15360, 0},"
    " sparse_tensor(float[3,4]) sp = [2, 5] {1, 2}, float[N,4] t>\n"
    "{ [first] t = F <a = 1, f = 1.5, s = \"text\", ints = [1, 2, 3], floats = [1.0, "
    "2.5],"
    " strings = [\"a\", \"b\"], tensor = int64[2] {5, 6}, type: type_proto = "
    "seq(float[2])>"
    " (x, w, bias)\n"
    "  y, \"\" = d.f <alpha: float = 2.0> (t, small, \"\")\n"
    "  z = If <then_branch: graph = then () => (u) { u = G(t, half) },"
    " else_branch: graph = other () => (v) <float[1] one = {1}> { v = G(x, one) }> (c) "
    "}\n"
    "<domain: \"d\", opset_import: [\"\" : 17]> f <alpha, beta = 3> (a, b) => (o, p)"
    " { o = F <v: float = @alpha> (a, b) p = G(o) }";

START_TEST(the_whole_model_loads) {
    struct tn_diag diag = {0};
    struct bytes bytes = bytes_from_text(everything, NULL);
    assert_ok(bytes_load(&bytes, NULL, &diag), diag);
    bytes_free(&bytes);
}
END_TEST

/* Loads a copy of exactly this size, so that a read past its end is seen. */
static tn_status load_copy(const uint8_t *data, size_t size, struct tn_diag *diag) {
    struct bytes copy = {malloc(size ? size : 1), size};
    ck_assert_ptr_nonnull(copy.data);
    memcpy(copy.data, data, size);
    memset(diag, 0, sizeof *diag);
    tn_status status = bytes_load(&copy, NULL, diag);
    bytes_free(&copy);
    ck_assert_msg(status == TN_OK || (diag->code == status && diag->message[0]),
        "code %d without a sentence", status);
    return status;
}

START_TEST(every_truncation_is_refused_or_harmless) {
    struct bytes bytes = bytes_from_text(everything, NULL);
    struct tn_diag diag;
    unsigned refused = 0;
    for (size_t n = 0; n < bytes.size; n++)
        refused += load_copy(bytes.data, n, &diag) != TN_OK;
    ck_assert_uint_gt(
        refused, bytes.size - 200); /* trailing fields may be dropped whole */
    bytes_free(&bytes);
}
END_TEST

/* A fixed sequence of numbers (splitmix64). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

START_TEST(ten_thousand_byte_flips_do_no_harm) {
    struct bytes bytes = bytes_from_text(everything, NULL);
    struct tn_diag diag;
    uint64_t state = 2026;
    for (int i = 0; i < 10000; i++) {
        size_t at = next_random(&state) % bytes.size;
        uint8_t old = bytes.data[at];
        bytes.data[at] ^= (uint8_t)(1 + next_random(&state) % 255);
        (void)load_copy(bytes.data, bytes.size, &diag);
        bytes.data[at] = old;
    }
    bytes_free(&bytes);
}
END_TEST

START_TEST(text_that_is_cut_or_damaged_does_no_harm) {
    size_t size = sizeof everything - 1;
    uint64_t state = 7;
    char *text = malloc(size);
    for (int i = 0; i < 3000; i++) {
        memcpy(text, everything, size);
        text[next_random(&state) % size] = (char)(next_random(&state) % 256);
        size_t n = i % 3 ? size : next_random(&state) % size;
        struct tn_diag diag = {0};
        struct tn__model *model = NULL;
        tn_status status = tn__text_read_model(text, n, NULL, &model, &diag);
        ck_assert(status == TN_OK || (diag.code == status && diag.message[0]));
        tn__model_destroy(model);
    }
    free(text);
}
END_TEST

/* graph.node[0].attribute[0].g.node[0]… `levels` graphs deep, built from the inside. */
static struct bytes nest_graphs(unsigned levels) {
    static const uint32_t numbers[] = {6, 5, 1}; /* g, attribute, node */
    struct bytes inner = {0};
    size_t room = 40 * (size_t)levels + 64, at = room;
    uint8_t *data = malloc(room);
    ck_assert_ptr_nonnull(data);
    for (unsigned i = 0; i < levels * 3; i++) { /* lengths in front, growing downwards */
        uint8_t head[16];
        size_t n = 0, size = room - at;
        head[n++] = (uint8_t)(numbers[i % 3] << 3 | 2);
        for (; size >= 0x80; size >>= 7)
            head[n++] = (uint8_t)(size | 0x80);
        head[n++] = (uint8_t)size;
        at -= n;
        memcpy(data + at, head, n);
    }
    bytes_put(&inner, "\x08\x08", 2);
    bytes_put_field(&inner, 8, "\x10\x11", 2);
    bytes_put_field(&inner, 7, data + at, room - at);
    free(data);
    return inner;
}

struct nested {
    struct bytes bytes;
    tn_status status;
    struct tn_diag diag;
};

static void *load_nested(void *arg) {
    struct nested *nested = arg;
    nested->status = bytes_load(&nested->bytes, NULL, &nested->diag);
    return NULL;
}

/* Sanitizers make frames several times larger. */
#if defined(__SANITIZE_ADDRESS__)
enum { STACK = 2 << 20 };
#else
enum { STACK = 256 << 10 };
#endif

static void load_on_small_stack(struct nested *nested) {
    pthread_attr_t attr;
    pthread_t thread;
    ck_assert_int_eq(pthread_attr_init(&attr), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, load_nested, nested), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
}

START_TEST(twenty_thousand_nested_graphs_need_little_stack) {
    struct nested nested = {.bytes = nest_graphs(20000)};
    load_on_small_stack(&nested);
    ck_assert_int_eq(nested.status, TN_INVALID_MODEL);
    ck_assert_uint_eq(nested.diag.rule, TN_RULE_WIRE_DEPTH);
    bytes_free(&nested.bytes);
}
END_TEST

/* The deepest nesting that the walker lets through still fits. */
START_TEST(the_deepest_legal_nesting_needs_little_stack) {
    struct nested nested = {.bytes = nest_graphs(32)};
    load_on_small_stack(&nested);
    ck_assert_int_eq(nested.status, TN_INVALID_MODEL);
    ck_assert_uint_eq(nested.diag.rule, TN_RULE_NODE_OP_TYPE); /* parsed, then refused */
    bytes_free(&nested.bytes);

    char text[4096];
    size_t used = (size_t)sprintf(
        text, "<ir_version: 8, opset_import: [\"\" : 17]> g (bool[] c) => (y0) { y0 = F");
    for (int i = 1; i < 31; i++)
        used +=
            (size_t)sprintf(text + used, " <b: graph = s () => (y%d) { y%d = F", i, i);
    used += (size_t)sprintf(text + used, "(c)");
    for (int i = 1; i < 31; i++)
        used += (size_t)sprintf(text + used, " } > (c)");
    sprintf(text + used, " }");
    nested = (struct nested){.bytes = bytes_from_text(text, NULL)};
    load_on_small_stack(&nested);
    ck_assert_msg(nested.status == TN_OK, "%s", nested.diag.message);
    bytes_free(&nested.bytes);
}
END_TEST

START_TEST(no_memory_is_reported_and_nothing_is_lost) {
    struct bytes bytes = bytes_from_text(everything, NULL);
    struct tn_diag diag = {0};
    tn_status status = TN_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != TN_OK; n++) {
        memset(&diag, 0, sizeof diag);
        tn__alloc_fail_at(n);
        status = bytes_load(&bytes, NULL, &diag);
        tn__alloc_fail_at(0);
        ck_assert_msg(status == TN_OK || status == TN_OUT_OF_MEMORY,
            "allocation %llu: code %d: %s", (unsigned long long)n, status, diag.message);
        ck_assert_uint_lt(n, 1000);
    }
    bytes_free(&bytes);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, the_whole_model_loads);
    tcase_add_test(tests, every_truncation_is_refused_or_harmless);
    tcase_add_test(tests, ten_thousand_byte_flips_do_no_harm);
    tcase_add_test(tests, text_that_is_cut_or_damaged_does_no_harm);
    tcase_add_test(tests, twenty_thousand_nested_graphs_need_little_stack);
    tcase_add_test(tests, the_deepest_legal_nesting_needs_little_stack);
    tcase_add_test(tests, no_memory_is_reported_and_nothing_is_lost);
}

UNIT_MAIN("hostile")
