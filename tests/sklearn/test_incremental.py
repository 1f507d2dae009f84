"""Classes that appear while a classifier learns: the fit is that of all classes declared from the start."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.laws import equal

N = 60
RNG = np.random.default_rng(11)
Y = np.array(["ant", "bee", "cat", "dog"])[RNG.integers(0, 4, N)]
SHIFT = np.unique(Y, return_inverse=True)[1][:, None]
WEIGHT = RNG.uniform(0.5, 2.0, N)


def with_gaps(x):
    x = x.astype(float)
    x[RNG.random(x.shape) < 0.1] = np.nan
    return x


EDGES = [[-1.0, 0.5, 2.5], [-0.8, 1.2, np.inf]]
LIKELIHOODS = {
    "flags": "bernoulli",
    "codes": "categorical",
    "reals": "normal",
    "events": "poisson",
    "words": "multinomial",
    "wins": nb.Binomial(4),
    "bent": nb.Histogram(edges=EDGES),
    "views": nb.Views(nb.NormalScores(), nb.Histogram(edges=EDGES)),
    "plane": nb.MultivariateNormal(),
    "ellipse": nb.MultivariateNormal("shared"),
    "tied": nb.Normal(variance="shared"),
    "known": nb.NormalKnownVariance(2.0),
}
X = {
    "flags": with_gaps(RNG.random((N, 3)) < 0.2 + 0.2 * SHIFT),
    "codes": with_gaps(RNG.integers(0, 3, (N, 2)) + SHIFT // 2),
    "reals": with_gaps(RNG.normal(SHIFT, 1.0, (N, 2)) * [1.0, 1e3] + [0.0, 1e4]),
    "events": with_gaps(RNG.poisson(1.0 + SHIFT, (N, 2))),
    "words": scipy.sparse.csr_array(RNG.poisson(0.5 + 0.2 * SHIFT, (N, 6))),
    "wins": with_gaps(RNG.binomial(4, 0.2 + 0.15 * SHIFT, (N, 2))),
    "bent": with_gaps(RNG.normal(SHIFT, 1.0, (N, 2))),
    "views": with_gaps(RNG.normal(SHIFT, 1.0, (N, 2))),
    "plane": RNG.normal(SHIFT, 1.0, (N, 2)),
    "ellipse": RNG.normal(SHIFT, 1.0, (N, 2)),
    "tied": with_gaps(RNG.normal(SHIFT, 1.0, (N, 2))),
    "known": with_gaps(RNG.normal(SHIFT, 1.0, (N, 2))),
}


def some(rows, names=LIKELIHOODS):
    return {name: X[name][rows] for name in names}


def in_batches(clf, order, ends, names=LIKELIHOODS, **declared):
    for rows in np.split(order, ends):
        clf.partial_fit(some(rows, names), Y[rows], sample_weight=WEIGHT[rows], **declared)
    return clf


def assert_same_fit(found, expected, names=LIKELIHOODS):
    assert_array_equal(found.classes_, expected.classes_)
    equal(found.statistics_, expected.statistics_, rtol=1e-9, atol=1e-9)
    rows = some(slice(0, 20), names)
    assert_allclose(found.predict_log_proba(rows), expected.predict_log_proba(rows), rtol=1e-6, atol=1e-7)


BY_CLASS = np.argsort(Y, kind="stable")[::-1]
"""Rows of the last class first: each of these parts brings a class that sorts before all others."""


@pytest.mark.parametrize("block", cases.by_default(LIKELIHOODS, *({*LIKELIHOODS} - {"bent"})))
def test_every_family_in_any_order_and_any_split(block):
    model = nb.NaiveBayesClassifier({block: LIKELIHOODS[block]})
    whole = model.fit(some(slice(None), [block]), Y, sample_weight=WEIGHT)
    first = int((Y == "dog").sum())  # one class alone
    rng = np.random.default_rng(abs(first))
    for order, ends in [(BY_CLASS, [1, first, first + 3]), (rng.permutation(N), np.sort(rng.integers(1, N, 2)))]:
        parts = in_batches(nb.NaiveBayesClassifier({block: LIKELIHOODS[block]}), order, ends, [block])
        assert_same_fit(parts, whole, [block])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"method": "map", "class_weight": {"bee": 3.0}},
        {"class_prior": {"ant": 0.1, "bee": 0.2, "cat": 0.3, "dog": 0.4}},
        {"class_prior": "uniform", "class_weight": "balanced"},
    ],
)
def test_blocks_of_several_kinds_under_any_parameters(parameters):
    names = ["flags", "codes", "reals", "words", "bent"]
    make = lambda: nb.NaiveBayesClassifier({name: LIKELIHOODS[name] for name in names}, **parameters)  # noqa: E731
    order = np.r_[np.flatnonzero(Y == "bee"), np.flatnonzero(Y != "bee")]
    whole = make().fit(some(slice(None), names), Y, sample_weight=WEIGHT)
    parts = in_batches(make(), order, [4, 20, 30], names)
    assert_same_fit(parts, whole, names)
    # rows are taken away as before, with a class that came late
    gone = np.flatnonzero(Y == "dog")[:3]
    parts.forget(some(gone, names), Y[gone], sample_weight=WEIGHT[gone])
    left = np.setdiff1d(np.arange(N), gone)
    rest = make().fit(some(left, names), Y[left], sample_weight=WEIGHT[left])
    assert_allclose(parts.predict_log_proba(some(slice(9), names)), rest.predict_log_proba(some(slice(9), names)), 1e-6)


def test_rows_that_fade():
    names = ["codes", "reals", "bent"]
    make = lambda: nb.NaiveBayesClassifier({name: LIKELIHOODS[name] for name in names}, forgetting=0.9)  # noqa: E731
    whole = in_batches(make(), BY_CLASS, [], names, classes=np.unique(Y))
    assert_same_fit(in_batches(make(), BY_CLASS, [2, 15, 40], names), whole, names)


def test_a_fit_of_whole_rows_grows_too_and_so_does_a_loaded_one(tmp_path):
    frame = pd.DataFrame({"color": np.array(["red", "blue"])[SHIFT[:, 0] % 2], "size": X["known"][:, 0]})
    early = Y < "cat"
    kinds = {"color": "categorical", "size": "normal"}
    clf = nb.NaiveBayesClassifier(kinds).fit(frame[early], Y[early])
    nb.save(clf, tmp_path / "early")
    whole = nb.NaiveBayesClassifier(kinds).fit(frame, Y)
    for one in (clf, nb.load(tmp_path / "early")):
        grown = one.partial_fit(frame[~early], Y[~early])
        assert_allclose(grown.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("labels", [[3, 1], [2.0, 1.5], [False, True], ["longer", "a"]])
def test_labels_of_every_type(labels):
    x = np.arange(4.0)[:, None]
    if labels == [2.0, 1.5]:
        labels = [2.0, 1.0]
    y = np.repeat(labels, 2)
    parts = nb.NaiveBayesClassifier("normal").partial_fit(x[:2], y[:2])
    assert parts.classes_.tolist() == labels[:1]
    assert parts.predict([[0.0]]).tolist() == labels[:1]
    parts.partial_fit(x[2:], y[2:])
    whole = nb.NaiveBayesClassifier("normal").fit(x, y)
    assert_array_equal(parts.classes_, whole.classes_, strict=True)
    assert_allclose(parts.predict_proba(x), whole.predict_proba(x))


def test_statistics_of_two_estimators_merge_by_label():
    """Each has a label that the other lacks, so that by position they would be those of other classes."""

    def fit(rows):
        return nb.NaiveBayesClassifier("normal").fit(X["plane"][rows], Y[rows])

    early = np.arange(N) < N // 2
    first, second = early & np.isin(Y, ["ant", "cat"]), ~early & np.isin(Y, ["bee", "cat"])
    merged = nb.merge(fit(first).statistics_, fit(second).statistics_)
    assert merged.classes == ("ant", "bee", "cat")
    equal(merged, fit(first | second).statistics_, rtol=1e-9, atol=1e-9)


def test_the_names_of_classes_stay_as_rows_come_and_go():
    clf = nb.NaiveBayesClassifier("normal").partial_fit(X["plane"][:30], Y[:30])
    clf.partial_fit(X["plane"][30:], Y[30:]).forget(X["plane"][:30], Y[:30])
    assert clf.statistics_.classes == ("ant", "bee", "cat", "dog")
    equal(
        clf.statistics_,
        nb.NaiveBayesClassifier("normal").fit(X["plane"][30:], Y[30:]).statistics_,
        rtol=1e-9,
        atol=1e-9,
    )


def test_dates_have_no_names_by_which_to_merge():
    days = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")[[0, 1, 0, 1]]
    assert nb.NaiveBayesClassifier("normal").fit(X["plane"][:4], days).statistics_.classes is None


def test_a_label_of_weight_zero_does_not_join():
    x, y = np.arange(4.0)[:, None], np.array([*"abcc"])
    clf = nb.NaiveBayesClassifier("normal").partial_fit(x[:2], y[:2])
    clf.partial_fit(x, y, sample_weight=[1.0, 1.0, 0.0, 0.0])
    assert clf.classes_.tolist() == ["a", "b"]


def test_classes_declared_later_are_all():
    x, y = np.arange(4.0)[:, None], np.array([*"aabb"])
    clf = nb.NaiveBayesClassifier("normal").partial_fit(x[:2], y[:2]).partial_fit(x, y, classes=[*"abc"])
    assert clf.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"\['d'\] in y do not exist in the initial classes"):
        clf.partial_fit(x, ["d"] * 4)
    assert clf.fit(x, y).partial_fit(x, ["d"] * 4).classes_.tolist() == ["a", "b", "d"]  # a new fit declares nothing


def declared():
    return nb.NaiveBayesClassifier("normal").partial_fit([[1.0], [2.0]], ["a", "b"], classes=["a", "b"])


def found(**parameters):
    return nb.NaiveBayesClassifier("normal", **parameters).partial_fit([[1.0], [2.0]], ["a", "b"])


def loaded():
    import io

    file = io.BytesIO()
    nb.save(declared(), file)
    return nb.load(file.getvalue())


@pytest.mark.parametrize(
    ("make", "labels", "classes", "sentence"),
    [
        (declared, ["b", "c"], None, r"\['c'\] in y do not exist in the initial classes \['a', 'b'\]"),
        (loaded, ["b", "c"], None, r"\['c'\] in y do not exist in the initial classes \['a', 'b'\]"),
        (declared, ["b", "c"], ["a", "b", "c"], "is not the same as on last call to partial_fit"),
        (found, ["b", "c"], ["b", "c"], "lack the label 'a' of earlier rows"),
        (
            found,
            [1, 2],
            None,
            "y holds the new label 1, and the labels so far are such as 'a': give labels of one type",
        ),
        (found, [1, "b"], None, "y holds labels of several types"),
        (found, ["b", None], None, "missing label in row 1"),
        (found, [1.0, np.nan], None, "missing label in row 1"),
        (lambda: found(class_prior={"a": 0.5, "b": 0.5}), ["b", "c"], None, "a probability for each of the labels"),
        (
            lambda: found(class_prior=[0.5, 0.5]),
            ["b", "c"],
            None,
            r"class_prior must be one probability per class, \[3\]",
        ),
        (lambda: found().set_params(class_weight={"z": 2.0}), ["b", "c"], None, "weight for 'z', which is not among"),
    ],
)
def test_what_cannot_join_is_refused_and_nothing_is_lost(make, labels, classes, sentence):
    clf = make()
    before, classes_before = clf.fit_, clf.classes_
    with pytest.raises(ValueError, match=sentence):
        clf.partial_fit([[3.0], [4.0]], labels, classes)
    assert clf.fit_ is before
    assert clf.classes_ is classes_before
    clf.set_params(class_weight=None, likelihoods="normal").partial_fit([[3.0]], ["b"])  # it goes on
    assert clf.class_count_.tolist() == [1.0, 2.0]


def test_a_class_weight_for_a_class_that_is_not_there_yet_says_to_declare_it():
    with pytest.raises(ValueError, match=r"class_weight has a weight for 'c', .* declare them, classes="):
        found(class_weight={"c": 2.0})


def test_a_model_that_has_all_its_classes():
    clf = nb.NaiveBayesClassifier(nb.NaiveBayes(nb.Normal(), num_classes=2)).partial_fit([[1.0], [2.0]], ["a", "b"])
    before = clf.fit_
    with pytest.raises(ValueError, match=r"the model has 2 classes, and y has 3: .* classes="):
        clf.partial_fit([[3.0]], ["c"])
    assert clf.fit_ is before
