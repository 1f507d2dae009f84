"""Files that version 0.1.0 wrote, one of each kind of result, are read, and their predictions are what it gave."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import bayesnb as nb
from bayesnb.tables.files.storage._version_0_1_0 import renew_params
from tests.tables.files.identical import assert_identical, saved

FOLDER = Path(__file__).parent / "of_0_1_0"
PREDICTIONS = json.loads((FOLDER / "predictions.json").read_text())  # the rows, and p(last class | x) of each

FLAGS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]])
NUMBERS = np.array([[0.5, 2.25], [1.75, 0.5], [3.0, 1.0], [0.25, 4.5], [2.5, 0.75], [1.0, 3.0]])
FRAME = pd.DataFrame({"size": NUMBERS[:, 0] + np.arange(6) % 5 / 8, "colour": [*"uvwuuv"], "flag": FLAGS[:, 0]})
ROWS = {"flags": FLAGS, "numbers": NUMBERS, "both": {"flags": FLAGS, "numbers": NUMBERS}, "frame": FRAME}


@pytest.mark.parametrize("kind", PREDICTIONS)
def test_the_predictions_are_the_same(kind, tmp_path):
    rows, expected = PREDICTIONS[kind]
    fit = nb.load(FOLDER / f"{kind}.safetensors")
    found = np.asarray(fit.predict_proba(ROWS[rows]))
    assert_allclose(found[:, -1], expected, rtol=1e-5 if kind == "posterior_of_jax" else 1e-12)
    again = nb.load(saved(fit, tmp_path))  # in the format of today
    np.testing.assert_array_equal(again.predict_proba(ROWS[rows]), found)
    assert_identical(getattr(again, "fit_", again), getattr(fit, "fit_", fit))


def test_class_probabilities_that_were_replaced_are_those_of_the_file():
    there, elsewhere = (nb.load(FOLDER / f"{kind}.safetensors") for kind in ("posterior", "posterior_elsewhere"))
    assert np.asarray(elsewhere.model.class_probs).tolist() == [0.3, 0.7]
    assert there.model.class_probs is elsewhere.prior.class_probs is None
    assert elsewhere.log_evidence == there.log_evidence


def test_an_estimator_behaves_as_it_did():
    """Its method "posterior" learned powers where numbers were seen by several views, and no dependence."""
    clf = nb.load(FOLDER / "estimator.safetensors")
    assert (clf.method, clf.temper, clf.dependence) == ("default", None, False)
    powers = clf.learned_.powers["size"]
    again = clone(clf).fit(FRAME, ["a", "b", "b", "a", "b", "a"])
    assert again.learned_.powers["size"].shape == powers.shape == (3,)
    before = clf.class_count_.sum()
    more = clf.partial_fit(FRAME, clf.classes_[[0, 1, 1, 0, 1, 0]])
    np.testing.assert_array_equal(more.learned_.powers["size"], powers)
    assert more.class_count_.sum() == before + 6
    for name, expected in {"estimator_map": ("map", None), "blocks": ("posterior", False)}.items():
        other = nb.load(FOLDER / f"{name}.safetensors")
        assert (other.method, other.temper, other.dependence) == (*expected, None)


@pytest.mark.parametrize(("temper", "method"), [(None, "default"), (False, "posterior"), ("per_feature", "posterior")])
@pytest.mark.parametrize("kind", ["normal", "auto"])
def test_the_method_of_an_estimator_is_what_it_did(temper, method, kind):
    """Nothing was learned for numbers that were chosen to be Normal."""
    learned = {"dependence": False} if kind == "auto" and temper is None else {"method": "posterior", "temper": temper}
    clf = nb.NaiveBayesClassifier(kind, **learned).fit(NUMBERS, [0, 1, 1, 0, 1, 0])
    params = {"likelihoods": kind, "method": "posterior", "temper": temper}  # that version had no dependence
    found = renew_params(params, clf.schema_, clf.fit_)
    assert found["method"] == (method if kind == "auto" else "posterior")
    assert found.get("dependence", "none") == (False if found["method"] == "default" else "none")


def test_an_estimator_of_blocks_goes_on_learning():
    """That version wrote frames and arrays as two classes; the probabilities are its own."""
    clf = nb.load(FOLDER / "blocks.safetensors")
    table = pd.DataFrame({"size": [0.5, np.nan], "colour": ["v", "u"]})
    rows = {"words": np.array([[2, 0, 1], [0, 3, 0]]), "table": table, "codes": np.array([[0, 2, 4], [1, 1, 0.0]])}
    assert_allclose(clf.predict_proba(rows)[:, 0], [0.06159336468145389, 0.8830360279312639], rtol=1e-12)
    assert clf.likelihoods_["codes[2]"] == "Poisson"
    assert clf.partial_fit(rows, ["a", "b"]).class_count_.tolist() == [21, 21]
