"""An exported estimator takes the estimator's rows, answers as it does, and starts without what it does not need."""

import json
import subprocess
import sys
from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.core.storage import _tensors as tensors
from tests import cases
from tests.tables.files.estimators import MADE
from tests.tables.sklearn.frame_of_every_kind import outcome

CLOSE = {"rtol": 1e-4, "atol": 1e-5}  # the functions are in float32


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """The estimator of a kind, its exported file as loaded, its rows and the file; each is exported once."""

    @cache
    def call(kind):
        (likelihoods, X, y), path = MADE[kind], tmp_path_factory.mktemp("exported") / "model"
        clf = nb.NaiveBayesClassifier(likelihoods).fit(X, y)
        nb.export(clf, path, platforms=["cpu"])
        return clf, nb.load_exported(path), X, path

    return call


@pytest.mark.filterwarnings("ignore:column 'empty':UserWarning")
@pytest.mark.parametrize(
    "kind", cases.by_default(MADE, "columns of every kind", slow=("one family", "an array of codes"))
)
def test_the_served_estimator_answers_as_the_estimator(kind, make):
    clf, served, X, _ = make(kind)
    assert isinstance(served, nb.results.ExportedEstimator)
    assert "Posterior" in repr(served)
    assert_array_equal(served.classes_, clf.classes_)
    given = [X, X[:3], X[:0]]
    if isinstance(X, pd.DataFrame):
        assert_array_equal(served.feature_names_in_, clf.feature_names_in_)
        given += [X[:1].to_dict("records"), X.to_dict("records"), X.iloc[4].to_dict(), pl.DataFrame(X)]
    for rows in given:
        assert_array_equal(served.predict(rows), clf.predict(rows))
        for name in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
            answer = getattr(served, name)(rows)
            assert type(answer) is np.ndarray
            assert_allclose(answer, getattr(clf, name)(rows), err_msg=name, **CLOSE)


@pytest.mark.filterwarnings("ignore:column 'empty':UserWarning")
@pytest.mark.parametrize(
    ("kind", "alter"),
    [
        ("columns of every kind", lambda X: X.assign(age=np.inf)),
        ("columns of every kind", lambda X: X.assign(age="old")),
        ("columns of every kind", lambda X: X.assign(port=1)),
        ("columns of every kind", lambda X: X.assign(visits=-1)),
        ("columns of every kind", lambda X: X.drop(columns="age")),
        ("columns of every kind", lambda X: X.drop(columns="age").to_dict("records")),
        ("columns of every kind", lambda X: X.to_numpy()),
        pytest.param("a column of a family", lambda X: X.assign(stays=0.5), marks=pytest.mark.slow),
        pytest.param("one family", lambda X: X.assign(age=np.inf), marks=pytest.mark.slow),
        pytest.param("words", lambda X: X.assign(stays=-1), marks=pytest.mark.slow),
        ("an array of numbers", lambda X: X[:, :2]),
        ("an array of numbers", lambda X: X + np.inf),
        ("an array of numbers", lambda X: X[0]),
        ("an array of numbers", lambda X: X.astype(str) + "a"),
        pytest.param("an array of codes", lambda X: X + 0.5, marks=pytest.mark.slow),
        pytest.param("an array of words", lambda X: X - 100, marks=pytest.mark.slow),
    ],
)
def test_other_rows_are_refused_in_the_same_sentences(kind, alter, make):
    clf, served, X, _ = make(kind)
    answer, warned = outcome(clf, alter(X))
    assert isinstance(answer, str)
    assert outcome(served, alter(X)) == (answer, warned)


@pytest.mark.filterwarnings("ignore:column 'empty':UserWarning")
def test_unseen_categories_missing_cells_and_extra_columns_are_as_in_the_estimator(make):
    clf, served, X, _ = make("columns of every kind")
    for name, cell in (("port", "unseen"), ("class", 9), ("age", None), ("alone", pd.NA), ("seen", 2), ("id", 1)):
        row = X.iloc[0].to_dict() | {name: cell}
        (expected, warned), (found, told) = (outcome(one, row) for one in (clf, served))
        assert told == warned
        assert_allclose(found, expected, **CLOSE)


SERVE = """
import json, sys
import bayesnb as nb
served, (row, X) = nb.load_exported(sys.argv[1]), json.loads(sys.argv[2])
print(served.predict_proba(row).tolist())
assert not {"numpyro", "pandas", "narwhals", "sklearn", "numba"} & {*sys.modules}, sys.modules.keys()
try:
    served.predict_proba(row | {"age": "old"})
except ValueError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column 'empty':UserWarning")
def test_a_new_process_answers_a_dict_with_jax_and_numpy_alone(make):
    clf, _, X, path = make("columns of every kind")
    row = json.loads(X[:1].to_json(orient="records"))[0]
    command = [sys.executable, "-c", SERVE, str(path), json.dumps([row, None])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer, sentence = done.stdout.splitlines()
    assert_allclose(json.loads(answer), clf.predict_proba(row), **CLOSE)
    assert sentence == outcome(clf, row | {"age": "old"})[0].removeprefix("DataError: ")


def test_what_cannot_be_exported_or_loaded_is_said(make, tmp_path):
    with pytest.raises(nb.StorageError, match="has not been fitted"):
        nb.export(nb.NaiveBayesClassifier(), tmp_path / "model")
    clf, _, _, path = make("an array of numbers")
    with pytest.raises(nb.StorageError, match="class_prior was set to 'uniform' after the fit"):
        nb.export(deepcopy(clf).set_params(class_prior="uniform"), tmp_path / "other", platforms=["cpu"])
    dated = nb.NaiveBayesClassifier().fit([[1.0], [2.0]], np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"))
    with pytest.raises(nb.StorageError, match="its labels are dates: convert them"):
        nb.export(dated, tmp_path / "other.onnx")
    header, arrays = tensors.read(path)
    for change in ({"classes": [[1], "<i8"]}, {"classes": None}, {"plain": {"names": 1}}):
        tensors.write(tmp_path / "other", header | {"estimator": header["estimator"] | change}, arrays)
        with pytest.raises(nb.StorageError, match="does not describe a valid estimator"):
            nb.load_exported(tmp_path / "other")
    tensors.write(tmp_path / "other", header | {"estimator": header["estimator"] | {"schema": {"node": 1}}}, arrays)
    with pytest.raises(nb.StorageError, match="does not describe a valid estimator"):
        nb.load_exported(tmp_path / "other").predict([[1, 2]])
