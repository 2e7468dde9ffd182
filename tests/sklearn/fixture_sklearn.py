"""A row for every class that skl2onnx converts: how to make it, on what data, and what the library
answers. `rows()` yields them; make_fixtures.py turns each into cases for float and double inputs."""
import dataclasses
import typing

import numpy as np
from sklearn import (
    calibration, cluster, compose, cross_decomposition, decomposition, discriminant_analysis,
    dummy, ensemble, feature_extraction, feature_selection, gaussian_process, impute, linear_model,
    mixture, model_selection, multiclass, multioutput, naive_bayes, neighbors, neural_network,
    pipeline, preprocessing, random_projection, svm, tree)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.gaussian_process import kernels
from skl2onnx import sklapi

import fixture_data as data


@dataclasses.dataclass
class Row:
    name: str
    model: object
    train: tuple  # X, y or None, X of the fixture
    types: tuple = ("float", "double")
    answers: typing.Callable = None  # (model, X) -> outputs, when not the usual ones
    options: dict = None
    limits: dict = dataclasses.field(default_factory=dict)  # type -> list
    reason: str = ""
    opset: object = None
    inputs: list = None  # several or typed inputs: list of (name, skl2onnx type, array)
    extra: typing.Callable = None  # more rows for the fixture, from the fitted model


def _usual(model, x):
    if hasattr(model, "predict_proba"):
        return [model.predict(x), model.predict_proba(x)]
    if hasattr(model, "decision_function"):
        return [model.predict(x), model.decision_function(x)]
    if hasattr(model, "predict"):
        return [model.predict(x)]
    return [model.transform(x)]


def _with_transform(model, x):
    return [model.predict(x), model.transform(x)]


def _scores(model, x):
    return [model.predict(x), model.decision_function(x)]


def _transform(model, x):
    return [model.transform(x)]


def _outlier(model, x):
    return [model.predict(x), model.decision_function(x)]


def _outlier_samples(model, x):
    return [model.predict(x), model.score_samples(x)]


# ---- linear ----------------------------------------------------------------------------------

def linear():
    two, many, reg = data.binary(), data.multi(), data.regression()
    words, three = data.binary(("no", "yes")), data.multi(("a", "b", "c"))
    for name, args in (("LogisticRegression", {}), ("LogisticRegressionCV", {"cv": 2, "Cs": 2})):
        make = getattr(linear_model, name)
        yield Row(f"{name}_binary", make(**args), two)
        yield Row(f"{name}_strings", make(**args), words)
        yield Row(f"{name}_multi", make(**args), many)
    yield Row("LogisticRegression_raw", linear_model.LogisticRegression(), many,
              answers=_scores, options={"raw_scores": True})
    yield Row("LogisticRegression_raw_binary", linear_model.LogisticRegression(), two,
              answers=_scores, options={"raw_scores": True})
    yield Row("OneVsRest_Logistic", multiclass.OneVsRestClassifier(
        linear_model.LogisticRegression()), three)
    for name in ("RidgeClassifier", "RidgeClassifierCV"):
        make = getattr(linear_model, name)
        yield Row(f"{name}_binary", make(), two, answers=_scores, options={"raw_scores": True})
        yield Row(f"{name}_multi", make(), three, answers=_scores, options={"raw_scores": True})
    for loss in ("log_loss", "modified_huber"):
        for title, sample in (("binary", two), ("multi", many)):
            yield Row(f"SGDClassifier_{loss}_{title}",
                      linear_model.SGDClassifier(loss=loss, random_state=0, alpha=0.1), sample)
    for name, args in (("SGDClassifier", {"loss": "hinge", "alpha": 0.1}), ("Perceptron", {}),
                       ("PassiveAggressiveClassifier", {})):
        make = getattr(linear_model, name, None)
        if make is None:
            continue
        for title, sample in (("binary", words), ("multi", many)):
            yield Row(f"{name}_hinge_{title}", make(random_state=0, **args), sample,
                      answers=_scores, options={"raw_scores": True})
    yield Row("LinearSVC_binary", svm.LinearSVC(random_state=0), two, answers=_scores,
              options={"raw_scores": True})
    yield Row("LinearSVC_multi", svm.LinearSVC(random_state=0), three, answers=_scores,
              options={"raw_scores": True})
    for name, args in (
            ("LinearRegression", {}), ("Ridge", {}), ("RidgeCV", {}), ("Lasso", {"alpha": 0.05}),
            ("LassoCV", {"cv": 2}), ("ElasticNet", {"alpha": 0.05}), ("ElasticNetCV", {"cv": 2}),
            ("Lars", {}), ("LarsCV", {"cv": 2}), ("LassoLars", {"alpha": 0.01}),
            ("LassoLarsCV", {"cv": 2}), ("LassoLarsIC", {}), ("OrthogonalMatchingPursuit", {}),
            ("OrthogonalMatchingPursuitCV", {"cv": 2}), ("ARDRegression", {}),
            ("BayesianRidge", {}), ("HuberRegressor", {}), ("TheilSenRegressor",
                                                            {"random_state": 0}),
            ("SGDRegressor", {"random_state": 0}),
            ("PassiveAggressiveRegressor", {"random_state": 0}),
            ("QuantileRegressor", {"alpha": 0.01}), ("RANSACRegressor", {"random_state": 0})):
        make = getattr(linear_model, name, None)
        if make is not None:
            yield Row(name, make(**args), reg)
    yield Row("LinearRegression_targets", linear_model.LinearRegression(), data.regression(3))
    yield Row("LinearRegression_no_intercept", linear_model.LinearRegression(fit_intercept=False),
              reg)
    yield Row("LinearSVR", svm.LinearSVR(random_state=0), reg)
    for name in ("MultiTaskLasso", "MultiTaskElasticNet"):
        yield Row(name, getattr(linear_model, name)(alpha=0.05), data.regression(2))
        yield Row(name + "CV", getattr(linear_model, name + "CV")(cv=2), data.regression(2))
    for name in ("GammaRegressor", "PoissonRegressor"):
        yield Row(name, getattr(linear_model, name)(), data.positive_target())
    for power in (0, 1.5):
        yield Row(f"TweedieRegressor_{power}", linear_model.TweedieRegressor(power=power),
                  data.positive_target())
    yield Row("SGDOneClassSVM", linear_model.SGDOneClassSVM(random_state=0, nu=0.2), two,
              answers=_outlier)
    yield Row("LinearDiscriminantAnalysis_binary",
              discriminant_analysis.LinearDiscriminantAnalysis(), two)
    yield Row("LinearDiscriminantAnalysis_multi",
              discriminant_analysis.LinearDiscriminantAnalysis(), three)
    yield Row("QuadraticDiscriminantAnalysis_binary",
              discriminant_analysis.QuadraticDiscriminantAnalysis(), two)
    yield Row("QuadraticDiscriminantAnalysis_multi",
              discriminant_analysis.QuadraticDiscriminantAnalysis(), many)
    yield Row("PLSRegression", cross_decomposition.PLSRegression(2), reg)
    yield Row("PLSRegression_targets", cross_decomposition.PLSRegression(2), data.regression(2))


# ---- trees -----------------------------------------------------------------------------------

def _trees_of(model):
    """Every sklearn tree inside: (features, thresholds)."""
    for part in np.ravel(getattr(model, "estimators_", model)):
        if hasattr(part, "tree_"):
            inner = part.tree_.children_left >= 0
            yield part.tree_.feature[inner], part.tree_.threshold[inner]
    for part in np.ravel(np.array(getattr(model, "_predictors", []), dtype=object)):
        nodes = part.nodes[part.nodes["is_leaf"] == 0]
        yield nodes["feature_idx"].astype(int), nodes["num_threshold"]


def on_thresholds(model, x, kind, most=20):
    """Rows that stand exactly on thresholds, and one ulp to either side, in the input's type."""
    number = np.float32 if kind == "float" else np.float64
    pairs = sorted({(int(f), float(t)) for fs, ts in _trees_of(model) for f, t in zip(fs, ts)})
    pairs = pairs[:: max(1, len(pairs) // most)][:most]
    rows = []
    for feature, threshold in pairs:
        at = number(threshold)
        for value in (at, np.nextafter(at, number(-np.inf)), np.nextafter(at, number(np.inf))):
            row = x[len(rows) % len(x)].astype(number)
            row[feature] = value
            rows.append(row)
    return np.array(rows, number)


def ties():
    """Two classes that the same rows share: leaves of equal votes."""
    x, y, z = data.binary()
    x, y = np.concatenate([x[:30], x[:30]]), np.concatenate([y[:30], 1 - y[:30]])
    return x, y, np.concatenate([x[:12], z[:4]])


def trees():
    two, many, reg = data.binary(), data.multi(), data.regression()
    three, targets = data.multi(("a", "b", "c")), data.regression(2)
    small = {"max_depth": 3, "random_state": 0}
    for name in ("DecisionTree", "ExtraTree"):
        make, make_reg = getattr(tree, name + "Classifier"), getattr(tree, name + "Regressor")
        yield Row(f"{name}Classifier_binary", make(**small), two, extra=on_thresholds)
        yield Row(f"{name}Classifier_multi", make(**small), three, extra=on_thresholds)
        yield Row(f"{name}Classifier_ties", make(**small), ties())
        yield Row(f"{name}Classifier_multilabel", make(**small), data.multilabel(),
                  answers=lambda m, x: [m.predict(x), np.stack(m.predict_proba(x))])
        yield Row(f"{name}Regressor", make_reg(**small), reg, extra=on_thresholds)
        yield Row(f"{name}Regressor_targets", make_reg(**small), targets)
        nan = (data.holes(two[0]), two[1], data.holes(two[2]))
        yield Row(f"{name}Classifier_nan", make(**small), nan)
        yield Row(f"{name}Regressor_nan", make_reg(**small),
                  (data.holes(reg[0]), reg[1], data.holes(reg[2])))
    forest = {"n_estimators": 4, **small}
    for name in ("RandomForest", "ExtraTrees"):
        make = getattr(ensemble, name + "Classifier")
        make_reg = getattr(ensemble, name + "Regressor")
        yield Row(f"{name}Classifier_binary", make(**forest), two, extra=on_thresholds)
        yield Row(f"{name}Classifier_multi", make(**forest), three, extra=on_thresholds)
        yield Row(f"{name}Classifier_ties", make(n_estimators=8, random_state=0, max_depth=2),
                  ties())
        yield Row(f"{name}Classifier_multilabel", make(**forest), data.multilabel(),
                  answers=lambda m, x: [m.predict(x), np.stack(m.predict_proba(x))])
        yield Row(f"{name}Classifier_leaves", make(**forest), two,
                  options={"decision_leaf": True},
                  answers=lambda m, x: [m.predict(x), m.predict_proba(x), m.apply(x)])
        yield Row(f"{name}Classifier_nan", make(**forest),
                  (data.holes(two[0]), two[1], data.holes(two[2])))
        yield Row(f"{name}Regressor", make_reg(**forest), reg, extra=on_thresholds)
        yield Row(f"{name}Regressor_targets", make_reg(**forest), targets)
    yield Row("DecisionTreeClassifier_path", tree.DecisionTreeClassifier(**small), two,
              options={"decision_path": True, "zipmap": False},
              answers=lambda m, x: [m.predict(x), m.predict_proba(x), np.array(
                  ["".join(str(int(v)) for v in row) for row in m.decision_path(x).toarray()])])
    yield Row("RandomTreesEmbedding", ensemble.RandomTreesEmbedding(
        n_estimators=3, max_depth=2, random_state=0, sparse_output=False), two,
        answers=_transform)
    boosted = {"n_estimators": 5, "max_depth": 2, "random_state": 0}
    yield Row("GradientBoostingClassifier_binary", ensemble.GradientBoostingClassifier(**boosted),
              two, extra=on_thresholds)
    yield Row("GradientBoostingClassifier_multi", ensemble.GradientBoostingClassifier(**boosted),
              three, extra=on_thresholds)
    yield Row("GradientBoostingClassifier_raw", ensemble.GradientBoostingClassifier(**boosted),
              two, answers=_scores, options={"raw_scores": True})
    yield Row("GradientBoostingRegressor", ensemble.GradientBoostingRegressor(**boosted), reg,
              extra=on_thresholds)
    hist = {"max_iter": 5, "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0}
    for title, sample in (("binary", two), ("multi", three)):
        yield Row(f"HistGradientBoostingClassifier_{title}",
                  ensemble.HistGradientBoostingClassifier(**hist), sample, extra=on_thresholds)
        yield Row(f"HistGradientBoostingClassifier_{title}_nan",
                  ensemble.HistGradientBoostingClassifier(**hist),
                  (data.holes(sample[0]), sample[1], data.holes(sample[2])))
    yield Row("HistGradientBoostingClassifier_raw",
              ensemble.HistGradientBoostingClassifier(**hist), two, answers=_scores,
              options={"raw_scores": True})
    yield Row("HistGradientBoostingRegressor", ensemble.HistGradientBoostingRegressor(**hist),
              reg, extra=on_thresholds)
    yield Row("HistGradientBoostingRegressor_nan", ensemble.HistGradientBoostingRegressor(**hist),
              (data.holes(reg[0]), reg[1], data.holes(reg[2])))
    yield Row("HistGradientBoostingRegressor_poisson", ensemble.HistGradientBoostingRegressor(
        loss="poisson", **hist), data.positive_target())
    yield Row("IsolationForest", ensemble.IsolationForest(
        n_estimators=4, max_samples=16, random_state=0), two, answers=_outlier,
        opset={"": 21, "ai.onnx.ml": 3})
    stump = tree.DecisionTreeClassifier(max_depth=1, random_state=0)
    for title, sample in (("binary", two), ("multi", three)):
        yield Row(f"AdaBoostClassifier_{title}", ensemble.AdaBoostClassifier(
            stump, n_estimators=4, random_state=0), sample)
    yield Row("AdaBoostRegressor", ensemble.AdaBoostRegressor(
        tree.DecisionTreeRegressor(max_depth=2), n_estimators=4, random_state=0), reg)
    for version in (1, 3):
        yield Row(f"RandomForestClassifier_ml{version}",
                  ensemble.RandomForestClassifier(**forest), three,
                  opset={"": 15, "ai.onnx.ml": version},
                  types=("float",) if version == 1 else ("float", "double"))


# ---- ensembles of other estimators -------------------------------------------------------------

def meta():
    two, many, reg = data.binary(), data.multi(), data.regression()
    three = data.multi(("a", "b", "c"))
    small_tree = tree.DecisionTreeClassifier(max_depth=2, random_state=0)
    reg_tree = tree.DecisionTreeRegressor(max_depth=2, random_state=0)
    logistic = linear_model.LogisticRegression
    for title, sample in (("binary", two), ("multi", three)):
        yield Row(f"BaggingClassifier_{title}", ensemble.BaggingClassifier(
            small_tree, n_estimators=3, random_state=0), sample)
        yield Row(f"BaggingClassifier_columns_{title}", ensemble.BaggingClassifier(
            logistic(), n_estimators=3, max_features=3, random_state=0), sample)
        yield Row(f"VotingClassifier_soft_{title}", ensemble.VotingClassifier(
            [("a", logistic()), ("b", small_tree)], voting="soft", flatten_transform=False), sample)
        yield Row(f"VotingClassifier_hard_{title}", ensemble.VotingClassifier(
            [("a", logistic()), ("b", small_tree), ("c", naive_bayes.GaussianNB())],
            voting="hard", flatten_transform=False), sample, answers=lambda m, x: [m.predict(x), None])
        yield Row(f"StackingClassifier_{title}", ensemble.StackingClassifier(
            [("a", logistic()), ("b", small_tree)], logistic(), cv=2), sample)
        yield Row(f"CalibratedClassifierCV_sigmoid_{title}", calibration.CalibratedClassifierCV(
            small_tree, method="sigmoid", cv=2), sample)
        yield Row(f"CalibratedClassifierCV_isotonic_{title}", calibration.CalibratedClassifierCV(
            logistic(), method="isotonic", cv=2), sample)
        yield Row(f"OneVsRestClassifier_{title}", multiclass.OneVsRestClassifier(small_tree),
                  sample)
        yield Row(f"GridSearchCV_{title}", model_selection.GridSearchCV(
            logistic(), {"C": [0.5, 1.0]}, cv=2), sample)
        yield Row(f"Pipeline_{title}", pipeline.make_pipeline(
            preprocessing.StandardScaler(), decomposition.PCA(3), logistic()), sample)
    yield Row("OneVsOneClassifier", multiclass.OneVsOneClassifier(logistic()), data.multi(),
              answers=lambda m, x: [m.predict(x), m.decision_function(x)])
    yield Row("OneVsRestClassifier_multilabel", multiclass.OneVsRestClassifier(logistic()),
              data.multilabel())
    if hasattr(model_selection, "TunedThresholdClassifierCV"):
        yield Row("TunedThresholdClassifierCV", model_selection.TunedThresholdClassifierCV(
            logistic(), cv=2), two)
    yield Row("MultiOutputClassifier", multioutput.MultiOutputClassifier(logistic()),
              data.multilabel(),
              answers=lambda m, x: [m.predict(x), np.stack(m.predict_proba(x))])
    yield Row("FixedThresholdClassifier", model_selection.FixedThresholdClassifier(
        logistic(), threshold=0.375), two)
    yield Row("MultiOutputRegressor", multioutput.MultiOutputRegressor(
        linear_model.Ridge()), data.regression(2))
    yield Row("BaggingRegressor", ensemble.BaggingRegressor(
        reg_tree, n_estimators=3, random_state=0), reg)
    yield Row("VotingRegressor", ensemble.VotingRegressor(
        [("a", linear_model.Ridge()), ("b", reg_tree)]), reg)
    yield Row("StackingRegressor", ensemble.StackingRegressor(
        [("a", linear_model.Ridge()), ("b", reg_tree)], linear_model.Ridge(), cv=2), reg)
    yield Row("GridSearchCV_regressor", model_selection.GridSearchCV(
        linear_model.Ridge(), {"alpha": [0.5, 1.0]}, cv=2), reg)
    for strategy in ("prior", "constant"):
        yield Row(f"DummyClassifier_{strategy}", dummy.DummyClassifier(
            strategy=strategy, constant=1 if strategy == "constant" else None), two)
    yield Row("DummyRegressor", dummy.DummyRegressor(strategy="median"), reg)
    constant = multiclass._ConstantPredictor().fit(two[0], np.array([1]))
    yield Row("_ConstantPredictor", constant, (two[0], None, two[2]))
    yield Row("FeatureUnion", pipeline.FeatureUnion(
        [("a", preprocessing.StandardScaler()), ("b", preprocessing.MinMaxScaler())]), two)
    yield Row("ColumnTransformer", compose.ColumnTransformer(
        [("a", preprocessing.StandardScaler(), [0, 2]), ("b", "passthrough", [1]),
         ("c", "drop", [3])]), two)


# ---- support vectors, neighbours, Bayes, mixtures, networks -------------------------------------

def others():
    two, many, reg = data.binary(), data.multi(), data.regression()
    three = data.multi(("a", "b", "c"))
    for kernel in ("linear", "rbf", "poly", "sigmoid"):
        args = {"kernel": kernel, "degree": 2, "gamma": 0.25, "coef0": 0.5}
        yield Row(f"SVC_{kernel}_binary", svm.SVC(**args), two, answers=_scores,
                  options={"raw_scores": True})
        yield Row(f"SVC_{kernel}_multi", svm.SVC(**args), three, answers=_scores,
                  options={"raw_scores": True})
        yield Row(f"SVR_{kernel}", svm.SVR(**args), reg)
    yield Row("SVC_proba_binary", svm.SVC(probability=True, random_state=0), two)
    yield Row("SVC_proba_multi", svm.SVC(probability=True, random_state=0), three)
    yield Row("NuSVC_binary", svm.NuSVC(nu=0.3), two, answers=_scores,
              options={"raw_scores": True})
    yield Row("NuSVC_multi", svm.NuSVC(nu=0.3), many, answers=_scores,
              options={"raw_scores": True})
    yield Row("SVC_ovo_multi", svm.SVC(decision_function_shape="ovo"), many, answers=_scores,
              options={"raw_scores": True})
    yield Row("NuSVR", svm.NuSVR(), reg)
    yield Row("OneClassSVM", svm.OneClassSVM(nu=0.2), two, answers=_outlier)
    two_far, three_far = data.scattered("binary"), data.scattered("multi")
    reg_far, targets_far = data.scattered("regression"), data.scattered("targets")
    for weights in ("uniform", "distance"):
        args = {"n_neighbors": 3, "weights": weights}
        yield Row(f"KNeighborsClassifier_{weights}_binary", neighbors.KNeighborsClassifier(**args),
                  two_far)
        yield Row(f"KNeighborsClassifier_{weights}_multi", neighbors.KNeighborsClassifier(**args),
                  three_far)
        yield Row(f"KNeighborsRegressor_{weights}", neighbors.KNeighborsRegressor(**args), reg_far)
    yield Row("KNeighborsClassifier_manhattan", neighbors.KNeighborsClassifier(
        3, metric="manhattan"), two_far)
    yield Row("KNeighborsRegressor_targets", neighbors.KNeighborsRegressor(3), targets_far)
    yield Row("KNeighborsClassifier_cdist", neighbors.KNeighborsClassifier(3), three_far,
              options={"optim": "cdist"})
    yield Row("KNeighborsRegressor_cdist", neighbors.KNeighborsRegressor(3), reg_far,
              options={"optim": "cdist"})
    yield Row("RadiusNeighborsClassifier", neighbors.RadiusNeighborsClassifier(3.0), two_far)
    yield Row("RadiusNeighborsRegressor", neighbors.RadiusNeighborsRegressor(3.0), reg_far)
    yield Row("NearestNeighbors", neighbors.NearestNeighbors(n_neighbors=3, radius=None), two_far,
              answers=lambda m, x: list(reversed(m.kneighbors(x))))
    yield Row("KNeighborsTransformer", neighbors.KNeighborsTransformer(n_neighbors=3), two_far,
              answers=_transform)
    yield Row("LocalOutlierFactor", neighbors.LocalOutlierFactor(5, novelty=True), two_far,
              answers=_outlier)
    yield Row("NeighborhoodComponentsAnalysis", neighbors.NeighborhoodComponentsAnalysis(
        2, random_state=0, max_iter=5), two_far)
    yield Row("KNNImputer", impute.KNNImputer(n_neighbors=2),
              (data.holes(two_far[0][:20], 0.15), None, data.holes(two_far[2])))
    for name in ("GaussianNB",):
        yield Row(f"{name}_binary", naive_bayes.GaussianNB(), two)
        yield Row(f"{name}_multi", naive_bayes.GaussianNB(), three)
    for name in ("MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"):
        for title, classes in (("binary", 2), ("multi", 3)):
            yield Row(f"{name}_{title}", getattr(naive_bayes, name)(), data.counts(classes))
    for name in ("GaussianMixture", "BayesianGaussianMixture"):
        for shape in ("full", "tied", "diag", "spherical"):
            yield Row(f"{name}_{shape}", getattr(mixture, name)(
                n_components=2, covariance_type=shape, random_state=0), two)
    yield Row("GaussianMixture_score", mixture.GaussianMixture(2, random_state=0), two,
              options={"score_samples": True},
              answers=lambda m, x: [m.predict(x), m.predict_proba(x), m.score_samples(x)])
    for name in ("KMeans", "MiniBatchKMeans"):
        yield Row(name, getattr(cluster, name)(3, n_init=1, random_state=0), two,
                  answers=_with_transform)
    net = {"hidden_layer_sizes": (6, 5), "max_iter": 60, "random_state": 0}
    for activation in ("relu", "tanh", "logistic", "identity"):
        title = "binary" if activation in ("relu", "identity") else "multi"
        yield Row(f"MLPClassifier_{activation}_{title}", neural_network.MLPClassifier(
            activation=activation, **net), two if title == "binary" else three)
        yield Row(f"MLPRegressor_{activation}", neural_network.MLPRegressor(
            activation=activation, **net), reg)
    yield Row("MLPClassifier_multilabel", neural_network.MLPClassifier(**net), data.multilabel(),
              answers=lambda m, x: [m.predict(x), None])
    near = (two[0][:25], two[1][:25], two[2])
    yield Row("GaussianProcessClassifier_binary", gaussian_process.GaussianProcessClassifier(
        kernels.RBF(1.5), optimizer=None), near,
        answers=lambda m, x: [m.predict(x).reshape(-1, 1), m.predict_proba(x)],
        limits={"float": [1e-5, 5e-4]},
        reason="the file solves 25 equations in float; its double twin meets 1e-5")
    shapes = {
        "rbf": kernels.RBF(1.5), "constant": kernels.ConstantKernel(2.0) * kernels.RBF(2.0),
        "white": kernels.RBF(1.5) + kernels.WhiteKernel(0.1),
        "matern": kernels.Matern(1.5, nu=1.5), "quadratic": kernels.RationalQuadratic(),
        "sine": kernels.ExpSineSquared(1.0, 4.0) + kernels.WhiteKernel(9.0),
        "dot": kernels.DotProduct(),
        "pairwise": kernels.PairwiseKernel(metric="cosine") + kernels.WhiteKernel(0.1)}
    for title, kernel in shapes.items():
        yield Row(f"GaussianProcessRegressor_{title}", gaussian_process.GaussianProcessRegressor(
            kernel, alpha=0.1, optimizer=None), (reg[0][:25], reg[1][:25], reg[2]))
    yield Row("GaussianProcessRegressor_std", gaussian_process.GaussianProcessRegressor(
        kernels.RBF(1.5), alpha=0.1, optimizer=None), (reg[0][:25], reg[1][:25], reg[2]),
        options={"return_std": True},
        answers=lambda m, x: list(m.predict(x, return_std=True)))


# ---- transformers -----------------------------------------------------------------------------

def transformers():
    two, reg = data.binary(), data.regression()
    x, y, z = two
    plus = (np.abs(x) + 0.125, y, np.abs(z) + 0.125)
    for name, args in (
            ("StandardScaler", {}), ("MinMaxScaler", {"feature_range": (-1, 1)}),
            ("MaxAbsScaler", {}), ("RobustScaler", {}), ("Binarizer", {"threshold": 0.25}),
            ("Normalizer", {"norm": "l2"}), ("PolynomialFeatures", {"degree": 3})):
        yield Row(name, getattr(preprocessing, name)(**args), two, answers=_transform)
    yield Row("MinMaxScaler_clip", preprocessing.MinMaxScaler(clip=True), two)
    yield Row("StandardScaler_div", preprocessing.StandardScaler(), two,
              options={"div": "div"})
    for norm in ("l1", "max"):
        yield Row(f"Normalizer_{norm}", preprocessing.Normalizer(norm), two, answers=_transform)
    for method, sample in (("yeo-johnson", two), ("box-cox", plus)):
        yield Row(f"PowerTransformer_{method.replace('-', '_')}",
                  preprocessing.PowerTransformer(method), sample)
    for shape in ("uniform", "normal"):
        yield Row(f"QuantileTransformer_{shape}", preprocessing.QuantileTransformer(
            n_quantiles=10, output_distribution=shape), two)
    for encode in ("ordinal", "onehot-dense"):
        yield Row(f"KBinsDiscretizer_{encode.replace('-', '_')}", preprocessing.KBinsDiscretizer(
            3, encode=encode, strategy="uniform"), two)
    yield Row("KBinsDiscretizer_quantile", preprocessing.KBinsDiscretizer(
        3, encode="ordinal", strategy="quantile"), two)
    yield Row("FunctionTransformer", preprocessing.FunctionTransformer(), two)
    if hasattr(preprocessing, "SplineTransformer"):
        yield Row("SplineTransformer", preprocessing.SplineTransformer(4, degree=2), two)
    for strategy in ("mean", "median", "most_frequent", "constant"):
        yield Row(f"SimpleImputer_{strategy}", impute.SimpleImputer(
            strategy=strategy, **({"fill_value": 1.5} if strategy == "constant" else {})),
            (data.holes(x), None, data.holes(z)))
    yield Row("SimpleImputer_indicator", impute.SimpleImputer(add_indicator=True),
              (data.holes(x), None, data.holes(z)))
    yield Row("IterativeImputer", impute.IterativeImputer(max_iter=2, random_state=0),
              (data.holes(x), None, data.holes(z)))
    yield Row("PCA", decomposition.PCA(3), two)
    yield Row("PCA_whiten", decomposition.PCA(2, whiten=True), two)
    yield Row("IncrementalPCA", decomposition.IncrementalPCA(3), two)
    yield Row("TruncatedSVD", decomposition.TruncatedSVD(2, random_state=0), two)
    for kernel in ("linear", "rbf", "poly", "sigmoid", "cosine"):
        yield Row(f"KernelPCA_{kernel}", decomposition.KernelPCA(
            n_components=2, kernel=kernel, gamma=0.25), (x[:25], None, z))
    kernel_matrix = x[:6] @ x[:6].T
    yield Row("KernelCenterer", preprocessing.KernelCenterer(),
              (kernel_matrix, None, z[:5] @ x[:6].T))
    for name in ("GaussianRandomProjection",):
        yield Row(name, getattr(random_projection, name)(2, random_state=0), two)
    best = feature_selection
    few = linear_model.LogisticRegression()
    for name, args in (
            ("SelectKBest", {"k": 2}), ("SelectPercentile", {"percentile": 50}),
            ("SelectFpr", {"alpha": 0.9}), ("SelectFdr", {"alpha": 0.9}),
            ("SelectFwe", {"alpha": 0.9}), ("GenericUnivariateSelect", {"mode": "k_best",
                                                                         "param": 2})):
        yield Row(name, getattr(best, name)(best.f_classif, **args), two, answers=_transform)
    yield Row("RFE", best.RFE(few, n_features_to_select=2), two, answers=_transform)
    yield Row("RFECV", best.RFECV(few, cv=2), two, answers=_transform)
    yield Row("SelectFromModel", best.SelectFromModel(few), two, answers=_transform)
    yield Row("VarianceThreshold", best.VarianceThreshold(0.1), two, answers=_transform)
    yield Row("CastTransformer", sklapi.CastTransformer(dtype=np.float64), two)
    yield Row("CastRegressor", sklapi.CastRegressor(tree.DecisionTreeRegressor(
        max_depth=2, random_state=0), dtype=np.float64), reg,
        answers=lambda m, x: [m.predict(x)])
    yield Row("ReplaceTransformer", sklapi.ReplaceTransformer(0.25, 9.0), two)
    yield Row("TfidfTransformer", feature_extraction.text.TfidfTransformer(), data.counts(),
              answers=_transform)
    yield Row("TfidfTransformer_sublinear", feature_extraction.text.TfidfTransformer(
        sublinear_tf=True, norm="l1"), data.counts(), answers=_transform)


# ---- inputs that are not one matrix of numbers ---------------------------------------------------

def _given(name, model, kind, fixture, answer, **more):
    """A fitted model whose only input has the given type."""
    return Row(name, model, None, types=("",), inputs=[("input", kind, fixture)],
               answers=lambda m, _: answer(m), **more)


def _text_rows(kind):
    """Vectorizers of text: the tokens that the converter's pattern and scikit-learn's agree on."""
    texts = data.sentences()
    flat = texts[:, 0]
    text = feature_extraction.text
    shapes = {
        "": {}, "bigrams": {"ngram_range": (1, 2)}, "stop": {"stop_words": ["red", "round"]},
        "case": {"lowercase": False}, "binary": {"binary": True},
        "vocabulary": {"vocabulary": ["red", "blue", "light"]},
        "pattern": {"token_pattern": "[a-zA-Z]+"}, "limits": {"min_df": 2, "max_features": 6},
        "char": {"analyzer": "char", "ngram_range": (1, 2)},
        "char_wb": {"analyzer": "char_wb", "ngram_range": (2, 3)}}
    for title, args in shapes.items():
        for name in ("CountVectorizer", "TfidfVectorizer"):
            model = getattr(text, name)(**args).fit(flat[:24])
            yield _given(f"{name}_{title}".rstrip("_"), model, kind([None, 1]), texts[12:],
                         lambda m: [m.transform(flat[12:]).toarray()])
    for title, args in (("l1", {"norm": "l1"}), ("raw", {"norm": None, "use_idf": False}),
                        ("sublinear", {"sublinear_tf": True})):
        model = text.TfidfVectorizer(**args).fit(flat[:24])
        yield _given(f"TfidfVectorizer_{title}", model, kind([None, 1]), texts[12:],
                     lambda m: [m.transform(flat[12:]).toarray()])


def special():
    from skl2onnx.common.data_types import (
        DictionaryType, FloatTensorType, Int64TensorType, StringTensorType)
    words, whole = data.categories(), data.counts()[0].astype(np.int64)
    asked = np.concatenate([words[:10], [["madrid", "a"], ["", "b"]]])
    for title, args in (("", {}), ("drop", {"drop": "first"}), ("dense", {"sparse_output": False}),
                        ("infrequent", {"max_categories": 2})):
        model = preprocessing.OneHotEncoder(handle_unknown="ignore", **args).fit(words)
        known = asked if title not in ("drop", "infrequent") else words[:10]
        yield _given(f"OneHotEncoder_{title}".rstrip("_"), model, StringTensorType([None, 2]),
                     known, lambda m, known=known: [m.transform(known)])
    model = preprocessing.OneHotEncoder(handle_unknown="ignore").fit(whole[:, :2])
    numbers = np.concatenate([whole[:9, :2], [[77, -1]]])
    yield _given("OneHotEncoder_int64", model, Int64TensorType([None, 2]), numbers,
                 lambda m: [m.transform(numbers)])
    model = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value",
                                         unknown_value=-1).fit(words)
    yield _given("OrdinalEncoder", model, StringTensorType([None, 2]), asked,
                 lambda m: [m.transform(asked)])
    model = preprocessing.OrdinalEncoder().fit(whole[:, :2])
    yield _given("OrdinalEncoder_int64", model, Int64TensorType([None, 2]), whole[:9, :2],
                 lambda m: [m.transform(whole[:9, :2])])
    goal = (words[:, 0] == "paris").astype(int)
    model = preprocessing.TargetEncoder(cv=2, random_state=0, target_type="binary").fit(words, goal)
    yield _given("TargetEncoder", model, StringTensorType([None, 2]), words[:10],
                 lambda m: [m.transform(words[:10])])
    column = whole[:12, 0]
    yield _given("LabelEncoder_int64", preprocessing.LabelEncoder().fit(column),
                 Int64TensorType([None]), column, lambda m: [m.transform(column)])
    yield _given("LabelEncoder_strings", preprocessing.LabelEncoder().fit(words[:, 0]),
                 StringTensorType([None]), words[:12, 0], lambda m: [m.transform(words[:12, 0])])
    yield _given("LabelBinarizer", preprocessing.LabelBinarizer().fit(column),
                 Int64TensorType([None, 1]), column.reshape(-1, 1),
                 lambda m: [m.transform(column)])
    yield _given("SimpleImputer_strings", impute.SimpleImputer(
        strategy="most_frequent", missing_values="").fit(asked.astype(object)),
        StringTensorType([None, 2]), asked, lambda m: [m.transform(asked.astype(object))])
    yield from _text_rows(StringTensorType)
    rows = [{"paris": 1.0, "a": 0.5}, {"rome": 2.0}]
    model = feature_extraction.DictVectorizer(sparse=False).fit(rows)
    one = {"rome": 3.0, "a": -0.25, "unknown": 9.0}
    yield _given("DictVectorizer", model,
                 DictionaryType(StringTensorType([1]), FloatTensorType([1])), one,
                 lambda m: [m.transform([one])])
    hashed = feature_extraction.FeatureHasher(n_features=8, input_type="string")
    cells = words[:10]
    yield _given("FeatureHasher", hashed, StringTensorType([None, 2]), cells,
                 lambda m: [m.transform(cells).toarray()])
    yield from _mixed(FloatTensorType, StringTensorType)
    whole_y = data.counts()[1]
    yield _given("RandomForestClassifier_int64", ensemble.RandomForestClassifier(
        n_estimators=3, max_depth=3, random_state=0).fit(whole, whole_y),
        Int64TensorType([None, 4]), whole[:15],
        lambda m: [m.predict(whole[:15]), m.predict_proba(whole[:15])])
    yield _given("LogisticRegression_int64", linear_model.LogisticRegression().fit(whole, whole_y),
                 Int64TensorType([None, 4]), whole[:15],
                 lambda m: [m.predict(whole[:15]), m.predict_proba(whole[:15])])


def _mixed(numbers_type, words_type):
    """The usual table: numbers with holes, and words, through a ColumnTransformer."""
    import pandas
    words, numbers = data.categories(), data.holes(data.features(40, 2))
    table = pandas.DataFrame({"age": numbers[:, 0], "fare": numbers[:, 1], "town": words[:, 0],
                              "class": words[:, 1]})
    goal = np.where(np.nan_to_num(numbers[:, 0]) > 0, "yes", "no")
    model = pipeline.make_pipeline(
        compose.ColumnTransformer([
            ("numbers", pipeline.make_pipeline(impute.SimpleImputer(),
                                               preprocessing.StandardScaler()), ["age", "fare"]),
            ("words", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["town", "class"])]),
        ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0))
    model.fit(table, goal)
    asked = table[:16]
    inputs = [(name, (numbers_type if k < 2 else words_type)([None, 1]),
               asked[[name]].to_numpy(np.float32 if k < 2 else str))
              for k, name in enumerate(table.columns)]
    yield Row("ColumnTransformer_mixed", model, None, types=("",), inputs=inputs,
              answers=lambda m, _: [m.predict(asked), m.predict_proba(asked)])


def rows():
    for family in (linear, trees, meta, others, transformers, special):
        for row in family():
            yield row
