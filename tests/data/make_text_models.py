#!/usr/bin/env python3
"""Makes the text models that tests/e2e/test_text.c runs, and what scikit-learn says of them.

    make_text_models.py FOLDER

Needs: pip install scikit-learn skl2onnx

Each text_<name>.onnx takes the lines of text_lines.txt, or of text_words.txt where each line is one
feature, as a column of strings; text_<name>.npy is scikit-learn's own output.
"""
import pathlib
import sys

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

LINES = [
    "This is the first document.",
    "This document is the second document, and it has 12 words: a b c!",
    "And this is the third one; THIS one shouts.",
    "Is this the first document?",
    "under_score and hy-phen, e.g. x1 x2 x_3",
    "tabs\tand spaces",
    "nothing_known zzz",
    "the the the the",
    "...",
    "The third, the second and the first",
]
SEEN = LINES[:5]  # what the vocabularies are made of
WORDS = ["cat", "dog", "", "a longer feature", "naïve", "привет", "日本語", "cat=1"]
# scikit-learn's own pattern, which the converter leaves to those who know their runtime
WORDS_OF_TWO = {"tokenexp": r"\b\w\w+\b"}


def models():
    yield "count", CountVectorizer().fit(SEEN), {}, 15
    yield "count_9", CountVectorizer().fit(SEEN), {}, 9
    yield "count_cased_pairs", CountVectorizer(
        lowercase=False, ngram_range=(1, 2)).fit(SEEN), WORDS_OF_TWO, 12
    yield "count_binary_words", CountVectorizer(
        token_pattern=r"\b[a-z]\w*\b", binary=True).fit(SEEN), {}, 18
    yield "count_separators", CountVectorizer(token_pattern="[^ ,.;:!?]+").fit(SEEN), {
        "separators": [" ", "[.]", "\\?", ",", ";", ":", "\\!"]}, 15
    yield "count_pairs_only", CountVectorizer(ngram_range=(2, 2)).fit(SEEN), WORDS_OF_TWO, 15
    yield "count_characters", CountVectorizer(
        analyzer="char", ngram_range=(1, 3)).fit(SEEN), {}, 15
    yield "tfidf", TfidfVectorizer().fit(SEEN), {}, 15
    yield "tfidf_pairs", TfidfVectorizer(
        ngram_range=(1, 2), norm="l1").fit(SEEN), WORDS_OF_TWO, 15
    yield "tfidf_unsmoothed", TfidfVectorizer(
        smooth_idf=False, norm=None, stop_words=["the", "is"]).fit(SEEN), {}, 15


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "text_lines.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (folder / "text_words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")

    def save(name, model, wanted):
        (folder / f"text_{name}.onnx").write_bytes(model.SerializeToString())
        np.save(folder / f"text_{name}.npy", wanted)

    for name, vectorizer, options, opset in models():
        model = to_onnx(vectorizer, initial_types=[("x", StringTensorType([None, 1]))],
                        options={type(vectorizer): options} if options else None,
                        target_opset=opset)
        save(name, model, vectorizer.transform(LINES).toarray().astype(np.float32))
    hasher = FeatureHasher(n_features=8, input_type="string", dtype=np.float32)
    model = to_onnx(hasher, initial_types=[("x", StringTensorType([None, 1]))], target_opset=18)
    save("hasher", model, hasher.transform([[w] for w in WORDS]).toarray())


if __name__ == "__main__":
    main()
