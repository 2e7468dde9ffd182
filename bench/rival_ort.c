/* ONNX Runtime, opened by path. */
#include "ort_api.h"
#include "rival.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rival {
    void *session, *options;
    void *values[RIVAL_MOST_IO];
    void *outputs[RIVAL_MOST_IO];
    const struct rival_inputs *inputs;
};

static const void *const *api;
static void *env, *memory_info;

/* A slot of the table as a function of the wanted type. */
#define CALL(slot, type) ((type)(uintptr_t)api[slot])

static bool good(struct ort_status *status) {
    if (!status) return true;
    fprintf(stderr, "onnxruntime: %s\n",
        CALL(ORT_GET_ERROR_MESSAGE, ort_get_error_message_fn)(status));
    CALL(ORT_RELEASE_STATUS, ort_release_fn)(status);
    return false;
}

static bool load(const char *library) {
    if (api) return true;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    struct ort_base *(*get_base)(void);
    void *symbol = handle ? dlsym(handle, "OrtGetApiBase") : NULL;
    if (!symbol) {
        fprintf(stderr, "onnxruntime: %s\n", dlerror());
        return false;
    }
    memcpy(&get_base, &symbol, sizeof get_base);
    api = get_base()->get_api(ORT_API_VERSION_USED);
    return api &&
           good(CALL(ORT_CREATE_ENV, ort_create_env_fn)(
               ORT_LOGGING_ERROR, "bench", &env)) &&
           good(CALL(ORT_CREATE_CPU_MEMORY_INFO, ort_create_memory_info_fn)(
               ORT_DEVICE_ALLOCATOR, ORT_MEM_DEFAULT, &memory_info));
}

static void ort_close(struct rival *rival) {
    for (unsigned i = 0; rival && i < RIVAL_MOST_IO; i++) {
        if (rival->values[i]) CALL(ORT_RELEASE_VALUE, ort_release_fn)(rival->values[i]);
        if (rival->outputs[i]) CALL(ORT_RELEASE_VALUE, ort_release_fn)(rival->outputs[i]);
    }
    if (rival && rival->session)
        CALL(ORT_RELEASE_SESSION, ort_release_fn)(rival->session);
    free(rival);
}

static struct rival *ort_open(const char *model, unsigned threads, const char *library) {
    struct rival *rival = load(library) ? calloc(1, sizeof *rival) : NULL;
    if (!rival) return NULL;
    bool done =
        good(CALL(ORT_CREATE_SESSION_OPTIONS, ort_create_options_fn)(&rival->options)) &&
        good(CALL(ORT_SET_INTRA_THREADS, ort_set_int_fn)(rival->options, (int)threads)) &&
        good(CALL(ORT_SET_INTER_THREADS, ort_set_int_fn)(rival->options, 1)) &&
        good(CALL(ORT_SET_OPTIMIZATION_LEVEL, ort_set_int_fn)(
            rival->options, ORT_ALL_OPTIMIZATIONS)) &&
        good(CALL(ORT_CREATE_SESSION, ort_create_session_fn)(
            env, model, rival->options, &rival->session));
    if (done) return rival;
    ort_close(rival);
    return NULL;
}

static bool ort_run(struct rival *rival) {
    const struct rival_inputs *in = rival->inputs;
    return good(CALL(ORT_RUN, ort_run_fn)(rival->session, NULL, in->input_names,
        rival->values, in->n_inputs, in->output_names, in->n_outputs, rival->outputs));
}

/* The first run allocates the outputs; later ones write into them again. */
static bool ort_bind(struct rival *rival, const struct rival_inputs *inputs) {
    rival->inputs = inputs;
    for (uint32_t i = 0; i < inputs->n_inputs; i++) {
        const struct tn_tensor *t = &inputs->tensors[i];
        if (!good(CALL(ORT_CREATE_TENSOR_WITH_DATA, ort_create_tensor_fn)(memory_info,
                t->data, t->size, t->dims, t->rank, t->dtype, &rival->values[i])))
            return false;
    }
    return ort_run(rival);
}

static const float *ort_output(struct rival *rival, uint32_t index) {
    void *data = NULL;
    return good(CALL(ORT_GET_TENSOR_DATA, ort_get_data_fn)(rival->outputs[index], &data))
               ? data
               : NULL;
}

const struct rival_face rival_ort = {
    "onnxruntime", ort_open, ort_bind, ort_run, ort_output, ort_close};
