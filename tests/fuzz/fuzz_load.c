/* Any bytes as a model: it loads or it is refused with a sentence. */
#include "core/model/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tn__load_options options = {
        .max_tensor_bytes = 16 << 20, .max_total_bytes = 64 << 20, .max_nodes = 100000};
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    struct tn_model source = {.data = data, .size = size};
    tn_status status = tn__model_load(&source, &options, &model, &diag);
    if (status != TN_OK && (diag.code != status || !diag.message[0])) abort();
    if (status == TN_OK) {
        for (struct tn_graph *g = model->graphs; g; g = g->next_graph) {
            if (tn__graph_verify(g, &diag) != TN_OK) abort();
        }
    }
    tn__model_destroy(model);
    return 0;
}
