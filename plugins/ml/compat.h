/* Whose rules hold where ONNX's text and ONNX Runtime differ: the config key "compat" of the
 * plugin, "onnx" (default) or "ort". */
#ifndef TENON_ML_COMPAT_H
#define TENON_ML_COMPAT_H

enum tn_compat {
    TN_COMPAT_ONNX = 0, /* the text and its reference; ONNX Runtime's where the text is
                           silent and converters rely on it */
    TN_COMPAT_ORT = 1   /* ONNX Runtime's, its accidents included */
};

#endif
