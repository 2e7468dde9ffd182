"""Why a converted file says something else than the library, where it does: the rows concerned are
left out of the comparison (or the whole file, when most rows are concerned), never in silence."""
import re

FLOAT_THRESHOLDS = ("scikit-learn rounds a double input to float before it compares; the file compares "
                    "the double")
NO_NAN = "the converter writes no missing_value_tracks_true: NaN goes right where the library learned a side"
LIGHTGBM_FLOATS = "the converter rounds LightGBM's double thresholds to the nearest float"

# (pattern of the fixture's name, reason), the first that matches
FAULTS = [
    (r"^LinearDiscriminantAnalysis_binary",
     "the converter writes softmax([-s, s]) where the library has sigmoid(s)"),
    (r"^(DecisionTree|ExtraTree)Classifier_multilabel",
     "the converter normalises the leaves of the second output by those of the first"),
    (r"^(DecisionTree|ExtraTree|RandomForest|ExtraTrees)\w+_nan_", NO_NAN),
    (r"^(DecisionTree|ExtraTree|RandomForest|ExtraTrees|GradientBoosting)\w+_double",
     FLOAT_THRESHOLDS),
    (r"^HistGradientBoostingRegressor_poisson", "the converter leaves out the exponential"),
    (r"^CalibratedClassifierCV_isotonic",
     "the converter writes steps where the library interpolates between them"),
    (r"^TunedThresholdClassifierCV",
     "one row's score is the threshold itself: the last bit of the score decides"),
    (r"^KNeighbors\w+_distance", "the converter's weights of the neighbours are not the library's"),
    (r"^Binarizer_double", "the converter writes 'not less' where the library has 'greater'"),
    (r"^Normalizer_max_float",
     "Normalizer MAX divides by the largest element, the library by the largest absolute value"),
    (r"^Tfidf\w+_sublinear", "the converter leaves out sublinear_tf"),
    (r"^XGBClassifier_rounds", "the converter takes num_parallel_tree trees for as many rounds"),
    (r"^XGBRegressor_logistic", "the converter leaves out the sigmoid"),
    (r"^LGBM\w+_rf_", "the converter does not average the trees of boosting_type rf"),
    (r"^LGBMClassifier_ova", "the converter leaves out the normalisation of multiclassova"),
    (r"^LGBMRegressor_zero_as_missing", "the converter leaves out zero_as_missing"),
    (r"^LGBMRegressor_(float|double|rough)", LIGHTGBM_FLOATS),
]


def explain(case):
    """Gives the case its reason. Returns why the whole case is left out, or None."""
    if isinstance(case.rival, str) and "Type Error" in case.rival:
        return "the file is not valid ONNX: " + case.rival.split("Type Error: ")[1][:100]
    if case.other_shape:
        return "the file gives another shape: the converter leaves out a part of the answer"
    if case.name == "Normalizer_max_float":  # onnx's evaluator reads MAX unlike its own text
        case.wrong = case.bad["ORT"]
    if case.wrong is None:
        return None
    reason = next((why for name, why in FAULTS if re.search(name, case.name)), None)
    if case.wrong.sum() * 2 > len(case.wrong):
        return f"the file says something else: {reason or 'UNEXPLAINED'}"
    case.reason = "; ".join(r for r in (case.reason, reason or "UNEXPLAINED") if r)
    return None
