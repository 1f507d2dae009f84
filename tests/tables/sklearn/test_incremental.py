"""Classes that appear while a classifier learns, and rows that it forgets: the fit is that of the other rows."""

from contextlib import nullcontext

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


@pytest.mark.parametrize("block", cases.by_default(LIKELIHOODS, "flags", "words", "ellipse"))
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
        {"method": "map", "class_weight": {"bee": 3.0}},
        pytest.param({"class_prior": {"ant": 0.1, "bee": 0.2, "cat": 0.3, "dog": 0.4}}, marks=pytest.mark.slow),
        pytest.param({"class_prior": "uniform", "class_weight": "balanced"}, marks=pytest.mark.slow),
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


@pytest.mark.slow
def test_rows_that_fade():
    names = ["codes", "reals", "bent"]
    make = lambda: nb.NaiveBayesClassifier({name: LIKELIHOODS[name] for name in names}, forgetting=0.9)  # noqa: E731
    whole = in_batches(make(), BY_CLASS, [], names, classes=np.unique(Y))
    assert_same_fit(in_batches(make(), BY_CLASS, [2, 15, 40], names), whole, names)


def test_a_fit_of_whole_rows_grows_too_and_so_does_a_loaded_one(tmp_path):
    frame = pd.DataFrame({"color": np.array(["red", "blue"])[SHIFT[:, 0] % 2], "size": X["known"][:, 0]})
    early = Y < "cat"
    kinds = {"color": "categorical", "size": "normal"}
    clf = nb.NaiveBayesClassifier(kinds, method="posterior").fit(frame[early], Y[early])
    nb.save(clf, tmp_path / "early")
    whole = nb.NaiveBayesClassifier(kinds, method="posterior").fit(frame, Y)
    for one in (clf, nb.load(tmp_path / "early")):
        grown = one.partial_fit(frame[~early], Y[~early])
        assert_allclose(grown.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("labels", [[3, 1], [2.0, 1.0], [False, True], ["longer", "a"]])
def test_labels_of_every_type(labels):
    x = np.arange(4.0)[:, None]
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


# rows that are forgotten


DRAWN = np.random.default_rng(0)
LABELS = np.array(["no", "yes", "perhaps"])[DRAWN.integers(0, 3, 80)]
FRAME = pd.DataFrame(
    {
        "smokes": DRAWN.integers(0, 2, 80),
        "blood": np.array(["0", "A", "B"])[DRAWN.integers(0, 3, 80)],
        "age": DRAWN.normal(50.0 + 5.0 * (LABELS == "yes"), 9.0),
    }
)
FRAME.loc[3, "age"] = np.nan
WEIGHTS = RNG.uniform(0.5, 2.0, 80)
SOME = np.arange(80) % 3 == 0


@pytest.mark.parametrize("method", ["posterior", "map", "mle"])
def test_what_is_forgotten_was_never_there(method):
    clf = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, method=method, temper=False)
    clf.fit(FRAME, LABELS, sample_weight=WEIGHTS).forget(FRAME[SOME], LABELS[SOME], sample_weight=WEIGHTS[SOME])
    rest = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, method=method, temper=False)
    rest.fit(FRAME[~SOME], LABELS[~SOME], sample_weight=WEIGHTS[~SOME])
    assert_allclose(clf.predict_proba(FRAME), rest.predict_proba(FRAME), rtol=1e-9)
    assert_allclose(clf.class_count_, rest.class_count_)
    clf.partial_fit(FRAME[SOME], LABELS[SOME], sample_weight=WEIGHTS[SOME])
    whole = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, method=method, temper=False)
    whole.fit(FRAME, LABELS, sample_weight=WEIGHTS)
    assert_allclose(clf.predict_proba(FRAME), whole.predict_proba(FRAME), rtol=1e-9)


def test_codes_words_and_a_class_that_is_left_without_rows():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (40, 3)), np.repeat([0, 1], 20)
    for method in ("default", "posterior"):
        make = lambda kind: nb.NaiveBayesClassifier(kind, method=method)  # noqa: B023, E731
        clf = make("categorical").partial_fit(X, y).forget(X[20:], y[20:])
        assert_array_equal(clf.class_count_, [20.0, 0.0])
        assert_array_equal(clf.classes_, [0, 1])
        again = clf.partial_fit(X[20:], y[20:])
        assert_allclose(again.predict_proba(X), make("categorical").fit(X, y).predict_proba(X), rtol=1e-9)
        words = make("multinomial").partial_fit(X, y).forget(X[:5], y[:5])
        assert_allclose(words.predict_proba(X), make("multinomial").fit(X[5:], y[5:]).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (FRAME.assign(blood="AB")[:1], LABELS[:1], "a category that no fitted row had"),
        (FRAME.assign(age=300.0)[:1], LABELS[:1], "cannot have been counted"),
        (FRAME[:2], ["no", "never"], "never"),
        (pd.concat([FRAME] * 2), np.tile(LABELS, 2), "cannot have been counted"),
    ],
)
def test_what_was_not_fitted_is_refused_and_nothing_is_lost(rows, labels, sentence):
    clf = nb.NaiveBayesClassifier(temper=False).fit(FRAME, LABELS)
    before = clf.predict_proba(FRAME)
    with pytest.raises(ValueError, match=sentence):
        clf.forget(rows, labels)
    assert_array_equal(clf.predict_proba(FRAME), before)


@pytest.mark.parametrize(
    "options", [{"method": "posterior", "temper": True}, {"dependence": False}, {}, {"dependence": "forest"}]
)
def test_powers_of_a_fit_stay_as_rows_come_and_go(options):
    """It keeps no rows to learn others from; and has counted no pairs of columns, whose dependence ends."""
    blocks = {"flags": FRAME[["smokes"]].to_numpy(), "reals": FRAME[["age"]].to_numpy()}
    kinds = {"flags": "bernoulli", "reals": "normal"}
    clf = nb.NaiveBayesClassifier(kinds, **options).fit(blocks, LABELS)
    powers = clf.learned_.powers
    assert all((power > 0).all() for power in powers.values())
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "reals": nb.Normal()})
    codes = np.unique(LABELS, return_inverse=True)[1]
    each = [({b: x[rows] for b, x in blocks.items()}, codes[rows]) for rows in (~SOME, slice(80))]
    fits = [nb.fit_posterior(model, *rows) for rows in each]
    ended = "partial_fit after fit drops the learned dependence between columns, because fit keeps no rows"
    for change, expected in zip((clf.forget, clf.partial_fit), fits, strict=True):
        depends = clf.learned_.summary.startswith("dependence")
        with pytest.warns(UserWarning, match=ended) if depends else nullcontext():
            change({b: x[SOME] for b, x in blocks.items()}, LABELS[SOME])
        own = expected.with_powers({"flags": powers["flags[0]"], "reals": powers["reals[0]"]})
        assert_allclose(clf.predict_proba(blocks), own.predict_proba(blocks), rtol=1e-6)
        assert clf.learned_.parts == {}


def test_rows_fade_in_their_order_whatever_the_batches():
    clf = lambda: nb.NaiveBayesClassifier({"smokes": "bernoulli"}, forgetting=0.95, temper=False)  # noqa: E731
    classes = ["no", "perhaps", "yes"]
    whole = clf().partial_fit(FRAME, LABELS, classes, sample_weight=WEIGHTS)
    parts = clf()
    for rows in np.split(np.arange(80), [3, 30, 31]):
        parts.partial_fit(FRAME.iloc[rows], LABELS[rows], classes, sample_weight=WEIGHTS[rows])
    assert_allclose(parts.predict_proba(FRAME), whole.predict_proba(FRAME), rtol=1e-9)
    faded = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, temper=False)
    faded.fit(FRAME, LABELS, sample_weight=WEIGHTS * 0.95 ** np.arange(80)[::-1])
    assert_allclose(whole.predict_proba(FRAME), faded.predict_proba(FRAME), rtol=1e-9)
    # fit counts all rows alike, and a row of weight zero is no step in time
    plain = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, temper=False).fit(FRAME, LABELS)
    assert_array_equal(clf().fit(FRAME, LABELS).predict_proba(FRAME), plain.predict_proba(FRAME))
    some = clf().partial_fit(FRAME, LABELS, classes, sample_weight=WEIGHTS * SOME)
    alone = clf().partial_fit(FRAME[SOME], LABELS[SOME], classes, sample_weight=WEIGHTS[SOME])
    assert_allclose(some.predict_proba(FRAME), alone.predict_proba(FRAME), rtol=1e-9)


def test_bad_forgetting():
    with pytest.raises(ValueError, match="forgetting must be a number from 0"):
        nb.NaiveBayesClassifier(forgetting=1.5).partial_fit(FRAME, LABELS, np.unique(LABELS))
    with pytest.raises(ValueError, match="forgetting must be a number from 0"):
        nb.NaiveBayesClassifier(forgetting=1.5).fit(FRAME, LABELS)
    clf = nb.NaiveBayesClassifier(forgetting=0.9).partial_fit(FRAME, LABELS, np.unique(LABELS))
    with pytest.raises(ValueError, match="have faded under forgetting"):
        clf.forget(FRAME[:1], LABELS[:1])


def test_a_category_that_has_all_but_faded_stays():
    blood, y = np.array(["rare", *["p", "q"] * 800]), np.array([*"ab"])[np.arange(1601) % 2]
    frame, fits = pd.DataFrame({"blood": blood}), []
    for split in (1601, 5):
        clf = nb.NaiveBayesClassifier(forgetting=0.5)
        for some in (slice(0, split), slice(split, 1601)):
            if some.start < 1601:
                clf.partial_fit(frame[some], y[some], classes=["a", "b"])
        fits.append(clf.predict_proba(frame))
    assert_allclose(fits[0], fits[1], rtol=1e-6)


def test_weights_of_rows_that_fade():
    """A batch without weight leaves the fit as it was, and a masked weight is refused, as without forgetting."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    clf = nb.NaiveBayesClassifier(forgetting=0.9).partial_fit(X, y)
    before = clf.predict_log_proba(X)
    assert_array_equal(clf.partial_fit(X[:2], y[:2], sample_weight=[0, 0]).predict_log_proba(X), before)
    with pytest.raises(ValueError, match="sample_weight is a masked array with a masked cell in row 0"):
        clf.partial_fit(X, y, sample_weight=np.ma.array(np.ones(20), mask=[True] + [False] * 19))
