/* What a file is that is no ONNX model. */
#ifndef TENON_SNIFF_H
#define TENON_SNIFF_H

#include <stdbool.h>
#include <stdint.h>

/* A sentence part such as "a Git LFS pointer, …; run 'git lfs pull'", NULL when the bytes
 * look like nothing known. */
const char *tn__sniff(const void *data, uint64_t size);
/* Does it look like a model in the ONNX text format? */
bool tn__sniff_text_model(const void *data, uint64_t size);

#endif
