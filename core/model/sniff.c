/* Magic numbers: see sniff.h. */
#include "core/model/sniff.h"

#include <string.h>

/* None of these can begin a model that an exporter writes, which
 * starts with ir_version (byte 08). */
static const struct {
    uint8_t offset, size;
    const char *bytes, *what;
} magics[] = {
    /* clang-format off */
    {0, 15, "version https:/", "a Git LFS pointer, not the file itself; run 'git lfs pull'"},
    {0, 9, "<!DOCTYPE", "an HTML page, probably a download that failed; download it again"},
    {0, 9, "<!doctype", "an HTML page, probably a download that failed; download it again"},
    {0, 5, "<html", "an HTML page, probably a download that failed; download it again"},
    {0, 4, "PK\3\4", "a zip archive, such as PyTorch writes; unpack it or export to ONNX"},
    {0, 2, "\x1f\x8b", "compressed with gzip; unpack it first"},
    {0, 6, "\xfd" "7zXZ\0", "compressed with xz; unpack it first"},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
    {4, 4, "TFL3", "a TensorFlow Lite model; convert it to ONNX"},
    {4, 4, "ORTM", "a model in ONNX Runtime's own .ort format; use the .onnx file instead"},
    {1, 3, "HDF", "an HDF5 file, such as Keras writes; convert it to ONNX"},
    {0, 4, "GGUF", "a GGUF model; convert it to ONNX"},
    {0, 6, "\x93NUMPY", "a NumPy array, not a model"},
    {0, 2, "\x80\x02", "a Python pickle, such as PyTorch writes; export to ONNX"},
    {0, 1, "{", "JSON text, not an ONNX model"},
    /* clang-format on */
};

const char *tn__sniff(const void *data, uint64_t size) {
    if (size == 0) return "empty";
    for (uint32_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        uint32_t end = (uint32_t)magics[i].offset + magics[i].size;
        if (size >= end && memcmp((const char *)data + magics[i].offset, magics[i].bytes,
                               magics[i].size) == 0)
            return magics[i].what;
    }
    return NULL;
}

bool tn__sniff_text_model(const void *data, uint64_t size) {
    const char *text = data;
    uint64_t i = 0, look = size < 4096 ? size : 4096;
    for (;;) { /* blanks and comments */
        while (i < look &&
               (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t'))
            i++;
        if (i == look || text[i] != '#') break;
        while (i < look && text[i] != '\n')
            i++;
    }
    return i < look && text[i] == '<' && memmem(text + i, look - i, "ir_version", 10);
}
