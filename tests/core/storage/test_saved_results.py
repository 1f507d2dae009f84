"""Altered files with right digests: each is refused in a sentence that names the part, or answers without NaN."""

import jax
import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.compute.arrays._placement import pytree
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.storage import _saved_results as saved_results
from bayesnb.core.storage import _tensors as tensors
from bayesnb.core.storage._kinds import rebuild
from tests import cases
from tests.altered import alterations

X, Y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), np.array([0, 1, 1, 0, 1, 0])
MODEL = nb.NaiveBayes(nb.Bernoulli(), class_concentration=2.0)
FRAME = pd.DataFrame({"a": ["u", "v", "w"] * 4, "b": np.arange(12.0) % 5, "c": [True, False] * 6})


def drawn():
    fit = nb.fit_posterior(MODEL, X, Y)
    return nb.Draws(fit.prior, fit.sample(jax.random.key(0), 8), {"diverging": np.zeros(8, bool)}, 2)


def of_case(name, fit):
    model, rows, y = cases.make(name)
    return lambda: fit(model, rows, y), rows


FITS = {
    "MLE": (lambda: nb.fit_mle(MODEL, X, Y), X),
    "tempered": (lambda: nb.temper(nb.fit_posterior(MODEL, X, Y), X, Y), X),
    "averaged": (lambda: nb.fit_averaged(MODEL, X, Y), X),
    "draws": (drawn, X),
    "labels": (lambda: nb.fit_multilabel(MODEL, X, np.stack([Y, 1 - Y], axis=1)), X),
    "Normal": of_case("normal", nb.fit_posterior),
    "shared Normal": of_case("shared", nb.fit_map),
    "MultivariateNormal": of_case("covariance", nb.fit_posterior),
    "Categorical": of_case("ragged", nb.fit_posterior),
    "Multinomial": of_case("multinomial", nb.fit_posterior),
    "frame": (lambda: nb.NaiveBayesClassifier().fit(FRAME, ["p", "q", "r"] * 4), FRAME),
    "array": (lambda: nb.NaiveBayesClassifier("categorical").fit(X, Y), X),
    "blocks": (lambda: nb.NaiveBayesClassifier(["multinomial", "auto"]).fit([X, FRAME[:6]], Y), [X, FRAME[:6]]),
    "positions": (lambda: nb.NaiveBayesClassifier({"*": nb.Multinomial(), 0: "bernoulli"}).fit(X, Y), X),
}


def outcomes(kind, path, step):
    """The sentences of refusals, by what was altered; every ``step``-th alteration."""
    make, rows = FITS[kind]
    nb.save(make(), path)
    found = {}
    for what, header, arrays in list(alterations(*tensors.read(path)))[::step]:
        path.write_bytes(tensors.to_bytes(header, arrays))
        try:
            answer = nb.load(path).predict_proba(rows)
            assert not np.isnan(answer).any(), what
        except ValueError as error:
            found[what] = str(error)
    assert not [words for words in found.values() if "\n" in words]
    return found


@pytest.mark.filterwarnings("ignore:column")  # of values that were altered
@pytest.mark.parametrize(
    "kind", cases.by_default(FITS, "MLE", "tempered", "draws", "labels", "MultivariateNormal", "Categorical")
)
def test_altered_results(kind, tmp_path):
    assert outcomes(kind, tmp_path / "fit", 61)


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.filterwarnings("ignore:X has feature names")  # a frame whose names are not text has no feature_names_in_
@pytest.mark.parametrize("step", [pytest.param(11, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("kind", FITS)
def test_every_alteration_of_a_result(kind, step, tmp_path):
    refused = outcomes(kind, tmp_path / "fit", step)
    assert len(refused) > 300 / step
    # a model of blocks says only once what its columns are called
    said = ("does not contain a valid bayesnb result", "has the format", "the rows have no column 'x'")
    assert all(any(part in words for part in said) for words in refused.values())


def altered(path, change):
    header, arrays = tensors.read(path)
    change(header, arrays)
    path.write_bytes(tensors.to_bytes(header, arrays))


def fields(header, *names):
    """The fields of a node inside of nodes."""
    node = header["result"]
    for name in names:
        node = node["node"][1][name]
    return node["node"][1]


def family(header, *names):
    """The first block of a model: its family's name, and its fields."""
    return fields(header, *names)["families"]["dict"][0][1]["node"]


def cut(header, arrays, key="class_counts"):
    name = fields(header, "statistics")[key]["array"]
    arrays[name] = arrays[name][:-1]


def of_others(header, arrays):
    """The statistics of fewer columns than the prior has."""
    for code in fields(header, "statistics")["blocks"]["dict"][0][1]["node"][1].values():
        if arrays[code["array"]].ndim == 2:
            arrays[code["array"]] = arrays[code["array"]][:, :-1]


def put(*names, value):
    def change(header, arrays):
        code = family(header, *names[:-1])[1][names[-1]]
        key = code["array"]
        arrays[key] = np.full_like(arrays[key], value)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut, "successes must be numbers of 32 or 64 bits, of shape"),
        (put("prior", "a", value=np.nan), "Bernoulli: a must be positive and finite"),
        (put("prior", "b", value=-1.0), "Bernoulli: b must be positive and finite"),
        (lambda h, _: fields(h, "prior").update(num_classes="2"), "num_classes must be a positive int, got '2'"),
        (lambda h, _: fields(h, "prior").update(num_classes=3), r"class_concentration must be numbers .* \(3,\)"),
        (lambda h, _: fields(h, "prior").update(single="x"), "single='x'"),
        (lambda h, _: h["result"]["node"][1].pop("prior"), "a Posterior has the fields prior, model, statistics"),
        (lambda h, _: fields(h).update(class_probs=[0.5, 0.6]), "class_probs must be non-negative and sum to 1"),
        (lambda h, _: fields(h).update(model=fields(h)["prior"]), "model of a posterior must be its prior, updated by"),
        (of_others, r"block 'x' has the shape \(2, 3\) in the model and \(2, 2\) in the statistics"),
        (lambda h, _: fields(h, "prior")["columns"]["dict"][0].__setitem__(1, 4), r"a must be numbers .* \(2, 4\)"),
        (lambda h, _: family(h, "prior").__setitem__(0, "Bernuli"), "'Bernuli' is not a part of a result"),
        (lambda _, a: a.pop("0"), "the array '0' is missing"),
        (lambda _, a: a.update({"0": a["0"].astype(np.int8)}), "must be numbers of 32 or 64 bits, of shape"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_file_and_the_part(change, words, tmp_path):
    nb.save(nb.fit_posterior(MODEL, X, Y), tmp_path / "fit")
    altered(tmp_path / "fit", change)
    with pytest.raises(nb.StorageError, match=f"fit' does not contain a valid bayesnb result: .*{words}"):
        nb.load(tmp_path / "fit")


def test_a_refusal_comes_before_the_update(tmp_path, monkeypatch):
    nb.save(nb.fit_posterior(MODEL, X, Y), tmp_path / "fit")
    altered(tmp_path / "fit", put("prior", "a", value=np.nan))
    monkeypatch.setattr(saved_results, "update", lambda *_: pytest.fail("something was built"))
    with pytest.raises(nb.StorageError, match="a must be positive and finite"):
        nb.load(tmp_path / "fit")


@pytest.mark.parametrize("name", ["normal", "covariance"])
def test_a_place_that_no_square_holds_is_refused(name, tmp_path):
    nb.save(of_case(name, nb.fit_posterior)[0](), tmp_path / "fit")
    altered(tmp_path / "fit", put("prior", "loc", value=1e200))
    with pytest.raises(nb.StorageError, match="loc must be at most 5"):
        nb.load(tmp_path / "fit")


@pytree
class OwnStatistics(Statistics):
    """Statistics of a family of one's own, which does not declare their shapes."""

    total: np.ndarray


def test_statistics_of_a_family_of_ones_own_are_not_checked():
    rebuild(nb.sufficient_statistics(MODEL, X, Y).with_block("x", OwnStatistics(np.full((2, 3), -1.0))))


def test_statistics_of_no_rows(tmp_path):
    for name, change, words in [
        ("normal", lambda s: s.squares.__imul__(-1), "squares must not be negative"),
        ("normal", lambda s: s.mean.__imul__(1e300), "mean holds a number that is too large to be squared"),
        ("covariance", lambda s: s.scatter.__imul__(-1), "scatter must be symmetric and positive semi-definite"),
        ("bernoulli", lambda s: s.successes.__iadd__(99), "successes must not be more than trials"),
        ("poisson", lambda s: s.cells.__imul__(np.nan), "cells must be finite"),
    ]:
        statistics = nb.sufficient_statistics(*cases.make(name))
        change(statistics.blocks["x"])
        with pytest.raises(nb.StorageError, match=f"cannot be saved: statistics of block 'x': {words}"):
            nb.save(statistics, tmp_path / "statistics")


@pytest.mark.parametrize("family", [nb.Normal(), nb.MultivariateNormal()])
@pytest.mark.parametrize("size", [1e51, 1e-51])
def test_fits_to_cells_of_any_size_are_stored(tmp_path, family, size):
    X = size * np.array([[0.1, 0.3], [0.4, 0.1], [2.0, 1.0], [2.2, 1.9], [1.9, 0.2], [0.3, 0.2]])
    fit = nb.fit_posterior(nb.NaiveBayes(family), X, [0, 0, 1, 1, 1, 0])
    nb.save(fit, tmp_path / "fit")
    np.testing.assert_array_equal(nb.load(tmp_path / "fit").predict_proba(X), fit.predict_proba(X))
