"""An estimator in ONNX takes the frame's columns by name, and answers with its labels."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.files.estimators import MADE
from tests.files.onnx_sessions import Served
from tests.sklearn.frame_of_every_kind import FRAME, Y

KINDS = {"port": "categorical", "level": "categorical", "agreed": "bernoulli", "visits": "poisson", "note": "skip"}
METHODS = {"proba": "predict_proba", "log_proba": "predict_log_proba", "log_joint": "predict_joint_log_proba"}


def assert_answers(found, clf, X):
    assert_array_equal(found["label"], clf.predict(X))
    for name, method in METHODS.items():
        assert_allclose(found[name], getattr(clf, method)(X), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    clf = nb.NaiveBayesClassifier(KINDS).fit(FRAME.drop(columns="empty"), Y)
    return clf, Served(clf, tmp_path_factory.mktemp("onnx"))


@pytest.mark.filterwarnings("ignore:column 'empty':UserWarning")
@pytest.mark.parametrize("kind", cases.by_default(MADE, "an array of codes", "one family"))
def test_the_answers_are_the_estimators(kind, tmp_path):
    likelihoods, X, y = MADE[kind]
    clf = nb.NaiveBayesClassifier(likelihoods).fit(X, y)
    served = Served(clf, tmp_path)
    for rows in (X, X[:1], X[:0]):
        found = served.of_columns(rows) if isinstance(X, pd.DataFrame) else served({"X": rows.astype(float)})
        assert_answers(found, clf, rows)


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


@pytest.mark.parametrize("labels", [[3, 7], [False, True], [1.0, 2.0], ["a", "ö"]], ids=str)
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


def test_refusals(tmp_path, rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(nb.StorageError, match="has not been fitted"):
        nb.export(nb.NaiveBayesClassifier(), tmp_path / "model.onnx")
    clf = nb.NaiveBayesClassifier().fit(X, y.astype("datetime64[D]"))
    with pytest.raises(nb.StorageError, match="its labels are dates: convert them"):
        nb.export(clf, tmp_path / "model.onnx")
    clf = nb.NaiveBayesClassifier().fit(X, y).set_params(class_prior="uniform")
    with pytest.raises(nb.StorageError, match="class_prior was set to 'uniform' after the fit"):
        nb.export(clf, tmp_path / "model.onnx")
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
