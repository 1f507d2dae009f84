"""Exported ONNX files answer in onnxruntime as the fit does, for any number of rows; other fits are refused.

Those of an estimator take the frame's columns by name, and answer with its labels.
"""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.tables.files.onnx._operators import RULES
from tests import cases
from tests.tables.files.estimators import MADE
from tests.tables.files.fits import FITS, MODEL, X, Y
from tests.tables.files.onnx.sessions import Served, assert_served
from tests.tables.sklearn.frame_of_every_kind import FRAME
from tests.tables.sklearn.frame_of_every_kind import Y as AGES

FITTED = {"MLE": nb.fit_mle, "MAP": nb.fit_map, "posterior": nb.fit_posterior}
EVERY = np.array(np.meshgrid(*[[0, 1, np.nan]] * 3)).reshape(3, -1).T


def numbers(rng):
    rows = rng.normal(size=(60, 3)) + np.arange(60)[:, None] % 2
    return rows, np.arange(60) % 2


def some_missing(rows, rng):
    return np.where(rng.random(rows.shape) < 0.2, np.nan, rows)


@pytest.mark.parametrize("method", cases.by_default(FITTED, "posterior"))
@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "mixed"))
def test_one_file_equals_the_fit_for_every_number_of_rows(name, method, tmp_path, rng):
    """Missing cells, and rows that are impossible under the MLE of some classes."""
    case = cases.make(name)
    fit = FITTED[method](*case)
    served = Served(fit, tmp_path)
    for size in (1, 0, 1000):
        assert_served(served, fit, case.rows(rng.integers(0, len(case.y), size)))


@pytest.mark.parametrize("name", cases.by_default(["covariance", "discriminant"], "covariance"))
def test_rows_of_a_covariance_with_some_cells_missing(name, tmp_path, rng):
    case = cases.make(name)
    fit = nb.fit_posterior(*case)
    assert_served(Served(fit, tmp_path), fit, some_missing(case.X, rng))


COUNTS = np.array([[0, 0, 0], [1, 1e6, 0], [3e7, 2, 1e7], [np.nan] * 3, [0, 0, 1e8]])
LARGE = np.array([[1e6, -1e6, 1e-9], [1e100, 1.0, np.nan], [0.0, -1e60, 1e12], [1.5, 2.5, 0.5]])
CODES = np.array([[0, 1, 2], [7, -1, np.nan], [1e9, 0, 3], [2, 2, 2]])
EXTREME = {
    "large counts": (nb.Multinomial(), COUNTS),
    "enormous counts": (nb.Multinomial(), 10 * COUNTS),
    "large counts by cell": (nb.Poisson(), np.where(COUNTS > 0, COUNTS, 1.0)),
    "many trials": (nb.Binomial(None), (np.minimum(COUNTS, 5e6), np.full(COUNTS.shape, 1e7))),
    "large numbers": (nb.Normal(), LARGE),
    "large rows": (nb.MultivariateNormal(), LARGE),
    "large numbers in cells": (nb.Histogram(), LARGE),
    "unseen categories": (nb.Categorical(4), CODES),
}


@pytest.mark.parametrize("method", cases.by_default(FITTED, "posterior"))
@pytest.mark.parametrize("kind", cases.by_default(EXTREME, "large counts", "large numbers", "unseen categories"))
def test_extreme_rows(kind, method, tmp_path, rng):
    family, rows = EXTREME[kind]
    y = np.arange(40) % 2
    counts = rng.poisson(2.0 + y[:, None], (40, 3)).astype(float)
    trained = {nb.Binomial: (np.minimum(counts, 5), counts * 0 + 5), nb.Categorical: np.minimum(counts, 3)}
    fit = FITTED[method](nb.NaiveBayes(family), trained.get(type(family), counts), y)
    assert_served(Served(fit, tmp_path), fit, rows, within=1e-5)


def test_tiny_probabilities_and_impossible_rows(tmp_path):
    """Rows that are impossible under one class, and under both."""
    probs = {"class_probs": [1 - 1e-12, 1e-12], "x_probs": [[1e-300, 0.5, 1.0], [0.0, 1e-15, 0.0]]}
    fit = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), probs)
    served = Served(fit, tmp_path)
    assert_served(served, fit, EVERY)
    assert np.isneginf(fit.log_joint(EVERY)).all(axis=1).any()


DRAWS = ("draws", "draws of hyperparameters")
COUNTS = "powers of words"


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few rows are not to be trusted
@pytest.mark.parametrize(
    "kind",
    cases.by_default(
        [kind for kind in FITS if kind not in (*DRAWS, COUNTS)], "tempered", "powers of words", "averaged"
    ),
)
def test_every_kind_of_fit(kind, tmp_path):
    fit = FITS[kind]()
    assert_served(Served(fit, tmp_path), fit, EVERY, within=1e-6 if kind == "MAP of JAX rows" else 1e-9)


def test_powers_of_words(tmp_path):
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [30.0, 2.0, 5.0], [np.nan] * 3])
    assert_served(Served(FITS[COUNTS](), tmp_path), FITS[COUNTS](), rows)


@pytest.mark.slow
@pytest.mark.parametrize("family", [nb.Categorical(2), nb.Normal(), nb.Histogram()], ids=lambda one: type(one).__name__)
def test_forests(family, tmp_path, rng):
    rows, y = numbers(rng)
    rows = (rows > 0.5).astype(float) if isinstance(family, nb.Categorical) else rows
    fit = nb.fit_forests(nb.NaiveBayes(family), rows, y)
    assert_served(Served(fit, tmp_path), fit, some_missing(rows, rng))


@pytest.mark.slow
@pytest.mark.parametrize("method", FITTED)
def test_views(method, tmp_path, rng):
    rows, y = numbers(rng)
    fit = FITTED[method](nb.NaiveBayes(nb.Views(nb.Histogram(), nb.NormalScores())), some_missing(rows, rng), y)
    assert_served(Served(fit, tmp_path), fit, some_missing(rows, rng))


def test_a_block_without_columns(tmp_path):
    rows = {"a": X, "none": np.zeros((6, 0))}
    fit = nb.fit_posterior(nb.NaiveBayes({"a": nb.Bernoulli(), "none": nb.Normal()}), rows, Y)
    assert_served(Served(fit, tmp_path), fit, rows)


def test_all_numbers_of_a_file_are_in_double_precision(tmp_path):
    import onnx

    nb.export(nb.fit_posterior(*cases.make("trials")), tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx").graph
    kinds = {onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}
    assert {one.data_type for one in graph.initializer} <= kinds
    assert {one.type.tensor_type.elem_type for one in [*graph.input, *graph.output]} <= kinds
    read = {name for node in graph.node for name in node.input}
    assert {one.name for one in graph.input} <= read


# refusals


def test_draws_say_what_to_export_instead(tmp_path):
    for kind in DRAWS:
        with pytest.raises(nb.StorageError, match=r"a fit of draws .*: export fit_posterior"):
            nb.export(FITS[kind](), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_what_onnx_cannot_say_is_refused_in_a_sentence(tmp_path, monkeypatch):
    fit = nb.fit_posterior(MODEL, X, Y)
    named = nb.fit_posterior(nb.NaiveBayes({"proba": nb.Bernoulli(), "a": nb.Normal()}), {"proba": X, "a": X}, Y)
    with pytest.raises(nb.StorageError, match=r"an input would be named 'proba'.* rename the column or block"):
        nb.export(named, tmp_path / "model.onnx")
    monkeypatch.delitem(RULES, "dot_general")
    with pytest.raises(
        nb.StorageError,
        match=r"exported to ONNX: JAX's 'dot_general' has no ONNX operator; write predict_proba by jax\.export",
    ):
        nb.export(fit, tmp_path / "model.onnx")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "bayesnb.tables.files.onnx._to_onnx")
    with pytest.raises(nb.StorageError, match=r"pip install 'bayesnb\[onnx\]'"):
        nb.export(fit, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_files(tmp_path):
    """In capitals or not, and of an open file too."""
    fit = nb.fit_posterior(MODEL, X, Y)
    nb.export(fit, tmp_path / "MODEL.ONNX")
    with (tmp_path / "open.onnx").open("wb") as handle:
        nb.export(fit, handle)
    assert (tmp_path / "open.onnx").read_bytes() == (tmp_path / "MODEL.ONNX").read_bytes()


# estimators

KINDS = {"port": "categorical", "level": "categorical", "agreed": "bernoulli", "visits": "poisson", "note": "skip"}
OF_ESTIMATOR = {"proba": "predict_proba", "log_proba": "predict_log_proba", "log_joint": "predict_joint_log_proba"}


def assert_answers(found, clf, X):
    assert_array_equal(found["label"], clf.predict(X))
    for name, method in OF_ESTIMATOR.items():
        assert_allclose(found[name], getattr(clf, method)(X), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    clf = nb.NaiveBayesClassifier(KINDS).fit(FRAME.drop(columns="empty"), AGES)
    return clf, Served(clf, tmp_path_factory.mktemp("onnx"))


@pytest.mark.filterwarnings("ignore:column 'empty':UserWarning")
@pytest.mark.parametrize("kind", cases.by_default(MADE, "one family"))
def test_the_answers_are_the_estimators(kind, tmp_path):
    likelihoods, X, y = MADE[kind]
    clf = nb.NaiveBayesClassifier(likelihoods).fit(X, y)
    served = Served(clf, tmp_path)
    for rows in (X, X[:1], X[:0]):
        found = served.of_columns(rows) if isinstance(X, pd.DataFrame) else served({"X": rows.astype(float)})
        assert_answers(found, clf, rows)


@pytest.mark.slow
def test_the_inputs_are_the_columns_that_matter(made):
    clf, served = made
    used = [column.name for column in clf.schema_.used]
    assert "note" not in used
    assert served.types == {name: "tensor(string)" if name == "port" else "tensor(double)" for name in used}
    assert [one.shape for one in served.session.get_inputs()] == [["rows", 1]] * len(used)
    assert served.session.get_outputs()[0].type == "tensor(string)"


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("port", "unseen"), ("port", ""), ("port", "true"), ("port", "TRUE"), ("port", "S"), ("port", None),
        ("level", 9), ("level", 2), ("level", 1.5), ("level", np.nan), ("alone", np.nan), ("alone", True),
        ("agreed", np.nan), ("visits", 10**6), ("visits", np.nan), ("age", 1e6), ("age", -1e100), ("age", np.nan),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:column '.*' holds no value:UserWarning")
def test_missing_cells_unseen_values_and_spellings(name, cell, made):
    clf, served = made
    X = FRAME.drop(columns="empty")[:3].astype({name: object}).assign(**{name: cell})
    assert_answers(served.of_columns(X), clf, X)


@pytest.mark.parametrize(
    "labels", cases.by_default([[3, 7], [False, True], [1.0, 2.0], ["a", "ö"]], ["a", "ö"]), ids=str
)
def test_labels_of_every_type(labels, tmp_path, rng):
    X, y = rng.normal(size=(20, 2)), np.array(labels)[np.arange(20) % 2]
    clf = nb.NaiveBayesClassifier("normal").fit(X, y)
    found = Served(clf, tmp_path)({"X": X})["label"]
    assert found.dtype.kind == {"U": "O"}.get(y.dtype.kind, y.dtype.kind)
    assert_array_equal(found, clf.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mle", "map", "posterior"])
def test_blocks_of_frames_and_arrays(method, tmp_path, rng):
    y = np.arange(40) % 2
    frame = pd.DataFrame({"age": rng.normal(y, 1.0), "port": np.where(rng.random(40) < 0.3 + 0.3 * y, "S", "C")})
    X = {"words": rng.poisson(1.0 + y[:, None], (40, 4)), "numbers": frame}
    clf = nb.NaiveBayesClassifier({"words": "multinomial"}, method=method).fit(X, y)
    served = Served(clf, tmp_path)
    found = served({"words": X["words"].astype(float)} | {n: frame[[n]].to_numpy() for n in frame})
    assert_answers(found, clf, X)


def test_inferred_flags_of_an_array_are_missing_where_they_are_others(tmp_path, rng):
    X, y = (rng.random((30, 3)) < 0.5).astype(float), np.arange(30) % 2
    with pytest.warns(UserWarning, match="its columns are Bernoulli"):
        clf = nb.NaiveBayesClassifier().fit(X, y)
    rows = np.array([[0.0, 1.0, 2.0], [np.nan, 0.5, 1.0]])
    with pytest.warns(UserWarning, match="counts as missing"):
        expected = clf.predict_proba(rows)
    assert_allclose(Served(clf, tmp_path)({"X": rows})["proba"], expected, rtol=1e-12)


def test_columns_and_labels_that_onnx_cannot_say_are_refused(tmp_path, rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    clf = nb.NaiveBayesClassifier().fit(pd.DataFrame({"label": X[:, 0], "b": X[:, 1]}), y)
    with pytest.raises(nb.StorageError, match=r"an input would be named 'label'.*: rename the column"):
        nb.export(clf, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    texts = pd.DataFrame({"m": ["aa aa", "aa", "", "aa"] * 5})
    with pytest.raises(nb.StorageError, match="column 'm' is read word by word, and an ONNX file does not split text"):
        nb.export(nb.NaiveBayesClassifier({"m": "words"}).fit(texts, y), tmp_path / "model.onnx")
    clf = nb.NaiveBayesClassifier().fit(X, np.array([3, 2**63 + 5], np.uint64)[y])
    with pytest.raises(nb.StorageError, match="its labels exceed 2"):
        nb.export(clf, tmp_path / "model.onnx")
