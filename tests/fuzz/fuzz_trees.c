/* Any bytes as a tree ensemble: see tree_trial.h. */
#include "../hostile/tree_trial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tree_trial(data, size);
    return 0;
}
