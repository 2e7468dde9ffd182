/* Sessions on the fake NPU of tests/fakes, with the cpu behind it. */
#ifndef TENON_NPU_FIXTURE_H
#define TENON_NPU_FIXTURE_H

#include "run_fixture.h"

static char report_text[1 << 16];
static size_t report_size;

static inline int collect(void *arg, const char *text, uint64_t size) {
    (void)arg;
    if (report_size + size >= sizeof report_text) return 1;
    memcpy(report_text + report_size, text, size);
    report_size += size;
    report_text[report_size] = '\0';
    return 0;
}

static inline void report(uint32_t format) {
    report_size = 0;
    assert_ok(
        tn_session_report(session, TN_REPORT_PLACEMENT, format, collect, NULL, &diag),
        diag);
}

static inline void assert_says(const char *part) {
    ck_assert_msg(strstr(report_text, part), "no '%s' in: %s", part, report_text);
}

/* "key value" pairs beyond the model. */
struct setup {
    const char *providers, *placement;
    const char *pairs[9]; /* key, value, …, NULL */
};

static inline tn_status try_setup(const char *text, const struct setup *setup) {
    struct tn_option options[8] = {{"provider", setup->providers}, {"level", "none"},
        {"placement", setup->placement}};
    uint64_t n = 3;
    for (int i = 0; setup->pairs[i]; i += 2)
        options[n++] = (struct tn_option){setup->pairs[i], setup->pairs[i + 1]};
    struct tn_session_options o = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = n};
    struct tn_model source = {.data = text, .size = strlen(text)};
    close_session();
    memset(&diag, 0, sizeof diag);
    tn_status status = tn_session_create(runtime, &source, &o, &session, &diag);
    if (status == TN_OK) status = tn_context_create(session, &context, &diag);
    return status;
}

static inline void set_up(void) {
    set_up_runtime();
    assert_ok(
        tn_runtime_load_plugin(runtime, FAKES_DIR "/org.tenon.fake-npu.so", &diag), diag);
}

#define ONNX_HEADER "<ir_version: 10, opset_import: [\"\" : 21]> "

static const char chain[] = ONNX_HEADER "g (float[2] x) => (float[2] y) {"
                                        " a = Add(x, x) b = Mul(a, x) c = Sqrt(b)"
                                        " d = Neg(c) y = Abs(d) }";
/* x: 2, 3 → a 4, 6 → b 8, 18 → sqrt → neg → abs */

static inline void run_chain(void) {
    set_floats(0, FLOATS(2, 8), 2);
    run_context();
    assert_floats(0, FLOATS(2.828427125f, 11.313708499f), 2);
}

#endif
