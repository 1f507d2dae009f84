"""Mutual information and Bayes factors of pairs, against scikit-learn, regressions, single steps and a textbook."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import mutual_info_score

import bayesnb as nb
from bayesnb.inspection._dependence import dependence


def mixed_rows(rng, rows=200, missing=0.15):
    """Flags, categories and numbers that depend on each other given three classes, with missing cells."""
    y = rng.choice(3, size=rows, p=[0.5, 0.3, 0.2])
    flag = rng.random(rows) < 0.2 + 0.2 * y
    colour = np.where(rng.random(rows) < 0.5, 2 * flag, rng.integers(0, 4, rows))
    height = rng.normal(10.0 * y + colour, 2.0)
    weight = 70.0 + 0.5 * height + rng.normal(size=rows)
    X = {
        "flags": np.stack([flag, rng.random(rows) < 0.5], axis=1).astype(float),
        "blood": colour[:, None].astype(float),
        "vitals": np.stack([height, weight, rng.normal(size=rows)], axis=1),
    }
    for x in X.values():
        x[rng.random(x.shape) < missing] = np.nan
    return X, y


MODEL = nb.NaiveBayes({"flags": nb.Bernoulli(), "blood": nb.Categorical(4), "vitals": nb.Normal()})
SIZES = (2, 2, 4, 0, 0, 0)


# the textbook: Russell and Norvig's exercise on smart, study and prepared, as weights of eight rows

STUDENTS = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
SMART, STUDY, PREPARED = range(3)
FIRST = np.array([0.432, 0.048, 0.16, 0.16, 0.084, 0.036, 0.008, 0.072])
SECOND = np.array([0.405, 0.045, 0.045, 0.005, 0.125, 0.125, 0.125, 0.125])


@pytest.mark.parametrize(
    ("table", "pair", "given", "together", "product"),
    [
        (FIRST, (SMART, STUDY), None, 0.48, 0.48),
        (FIRST, (PREPARED, STUDY), None, 0.516, 0.410),
        (SECOND, (SMART, PREPARED), STUDY, 0.579, 0.487),
        (SECOND, (STUDY, PREPARED), SMART, 0.81, 0.81),
    ],
)
def test_the_tables_of_the_textbook(table, pair, given, together, product):
    chosen, y = STUDENTS[:, pair], np.zeros(8, int) if given is None else STUDENTS[:, given]
    weight = table * (y == y.max()) / table[y == y.max()].sum()
    assert_allclose(weight @ chosen.all(axis=1), together, atol=5e-4)
    assert_allclose(np.prod(weight @ chosen), product, atol=5e-4)
    found = dependence(chosen, y, sample_weight=10_000 * table)
    if together == product:
        assert_allclose(found.mutual_information, 0.0, atol=1e-12)
        assert found.log_bayes_factor[0, 1] < -3
    else:
        assert found.mutual_information[0, 1] > 0.01
        assert found.log_bayes_factor[0, 1] > 100


# categories


def one_pair(X, y, a, b):
    """The rows of each class where both columns are observed."""
    cells = np.concatenate(list(X.values()), axis=1)
    seen = ~np.isnan(cells[:, [a, b]]).any(axis=1)
    return [cells[seen & (y == k)][:, [a, b]] for k in range(3)]


@pytest.mark.parametrize(("a", "b"), [(0, 1), (0, 2), (1, 2)])
def test_the_information_of_categories_against_scikit_learn(rng, a, b):
    X, y = mixed_rows(rng)
    classes = one_pair(X, y, a, b)
    nats = sum(len(rows) * mutual_info_score(*rows.T.astype(int)) for rows in classes)
    assert_allclose(dependence(X, y, model=MODEL).mutual_information[a, b], nats / sum(map(len, classes)), atol=1e-14)


@pytest.mark.parametrize(("a", "b"), [(3, 4), (3, 5), (0, 3), (2, 3), (2, 5)])
def test_the_information_of_real_columns_is_that_of_a_regression(rng, a, b):
    X, y = mixed_rows(rng, rows=60)
    nats, total = 0.0, 0
    for rows in one_pair(X, y, a, b):
        x = rows[:, 1] - rows[:, 1].mean()
        design = rows[:, [0]] if a >= 3 else (rows[:, [0]] == np.arange(SIZES[a])).astype(float)
        centred = design - design.mean(axis=0)
        explained = np.square(centred @ np.linalg.pinv(centred) @ x).sum() / np.square(x).sum()
        entropy = np.inf if a >= 3 else stats.entropy(design.mean(axis=0))
        nats += len(x) * min(-0.5 * np.log(1 - len(x) / (len(x) + 1) * explained), entropy)
        total += len(x)
    assert_allclose(dependence(X, y, model=MODEL).mutual_information[a, b], nats / total)


# Bayes factors: those of forests


@pytest.mark.parametrize("blocks", [("flags",), ("flags", "blood"), ("vitals",), ("blood", "vitals")])
def test_the_factor_is_the_evidence_of_an_edge_of_forests(rng, blocks):
    """Of two columns the odds of an edge against none are its evidence times 1 / 2."""
    X, y = mixed_rows(rng)
    rows = {name: X[name][:, -1:] for name in blocks} if len(blocks) == 2 else {b: X[b][:, [0, -1]] for b in blocks}
    model = nb.NaiveBayes({name: MODEL.families[name] for name in blocks})
    edges = nb.fit_forests(model, rows, y).edge_probs
    with np.errstate(divide="ignore"):
        evidence = np.log(edges / (1.0 - edges.sum())) + np.log(2.0)
    assert_allclose(dependence(rows, y, model=model).log_bayes_factor[0, 1], evidence.max(), rtol=1e-9)


def test_categories_tell_no_more_than_their_entropy(rng):
    flag = rng.random(500) < 0.3
    X = {"flag": flag[:, None], "far": rng.normal(1e4 * flag, 1.0)[:, None]}
    found = dependence(X, np.zeros(500, int))
    assert_allclose(found.mutual_information[0, 1], stats.entropy([flag.mean(), 1 - flag.mean()]))
    assert found.log_bayes_factor[0, 1] > 1000


@pytest.mark.slow
def test_the_evidence_per_row_is_not_fooled_by_columns_that_are_nearly_unique(rng):
    """The counts of two identifiers share nats by chance; a pair that depends tends to its mutual information."""
    flag = rng.random(4000) < 0.5
    X = np.stack(
        [rng.integers(0, 900, 4000), rng.integers(0, 900, 4000), flag, flag ^ (rng.random(4000) < 0.1)], axis=1
    )
    few, many = dependence(X[:500], np.zeros(500, int)), dependence(X, np.zeros(4000, int))
    assert few.nearly_unique == (0, 1)
    assert many.nearly_unique == ()
    assert few.mutual_information[0, 1] > 4
    assert repr(few) == "Dependence(6 pairs, 1 surely dependent)"
    assert few.evidence_per_row[0, 1] == many.evidence_per_row[0, 1] == 0
    assert few.among([1, 2]).nearly_unique == (0,)
    assert_allclose(few.among([2, 3]).evidence_per_row[0, 1], few.evidence_per_row[2, 3])
    assert_allclose(many.evidence_per_row[2, 3], many.mutual_information[2, 3], atol=0.005)


@pytest.mark.parametrize("rows", [2, 3, 10, 50])
def test_classes_far_apart_are_no_dependence(rng, rows):
    """Independent inside each of many narrow classes; the class itself binds the columns together."""
    y = np.repeat(np.arange(20), rows)
    X = {"x": rng.normal(size=(20, 3))[y] + 0.05 * rng.normal(size=(20 * rows, 3))}
    X["codes"] = rng.integers(0, 3, (20 * rows, 1))
    found = dependence(X, y)
    assert (found.evidence_per_row == 0).all()
    assert found.log_bayes_factor[:3, 3].max() < (-5 if rows < 10 else -50)


# laws


def same(a, b, **tolerance):
    assert_allclose(a.mutual_information, b.mutual_information, **{"rtol": 1e-9, "atol": 1e-12, **tolerance})
    assert_allclose(a.log_bayes_factor, b.log_bayes_factor, **{"rtol": 1e-9, "atol": 1e-9, **tolerance})


def test_the_matrices_are_symmetric_and_empty_on_the_diagonal(rng):
    found = dependence(*mixed_rows(rng), model=MODEL)
    for matrix in (found.mutual_information, found.log_bayes_factor):
        assert_array_equal(matrix, matrix.T)
        assert_array_equal(np.diag(matrix), 0.0)
    assert (found.mutual_information >= 0).all()


def test_columns_in_another_order(rng):
    X, y = mixed_rows(rng)
    order = [5, 2, 0, 4, 1, 3]
    kinds = {"f": nb.Bernoulli(), "c": nb.Categorical(4), "n": nb.Normal()}
    columns = np.concatenate(list(X.values()), axis=1)
    blocks = {f"b{i}": columns[:, [d]] for i, d in enumerate(order)}
    model = nb.NaiveBayes({f"b{i}": kinds["ffcnnn"[d]] for i, d in enumerate(order)})
    same(dependence(blocks, y, model=model), dependence(X, y, model=MODEL).among(order))


def test_a_missing_cell_leaves_the_row_out_of_its_pairs_only(rng):
    X, y = mixed_rows(rng)
    model = MODEL.resolve(X, y)
    whole = dependence(X, y, model=model)
    cells = np.concatenate(list(X.values()), axis=1)
    for a, b in [(0, 2), (2, 4), (3, 5)]:
        seen = ~np.isnan(cells[:, [a, b]]).any(axis=1)
        some = dependence({name: x[seen] for name, x in X.items()}, y[seen], model=model)
        same(whole.among([a, b]), some.among([a, b]))


def test_weights_are_repetitions_and_soft_labels_are_labels(rng):
    X, y = mixed_rows(rng)
    weight = rng.integers(0, 4, 200)
    again = {name: np.repeat(x, weight, axis=0) for name, x in X.items()}
    repeated = dependence(again, np.repeat(y, weight), model=MODEL)
    for x in X.values():
        x[weight == 0] = 99.5  # a row without weight may hold anything
    same(dependence(X, y, sample_weight=weight, model=MODEL), repeated)
    same(dependence(X, np.eye(3)[y], sample_weight=weight, model=MODEL), repeated)


def test_place_and_scale_of_real_columns_do_not_matter(rng):
    X, y = mixed_rows(rng)
    moved = X | {"vitals": X["vitals"] * [1e-6, -1e6, 1e130] + [1.0, 1e9, 0.0]}
    same(dependence(moved, y, model=MODEL), dependence(X, y, model=MODEL))


def test_constant_and_identical_columns_stay_finite(rng):
    x = rng.normal(size=60)
    X = {
        "real": np.stack([x, 3 * x + 1, np.full(60, 0.1)], axis=1),
        "code": np.stack([np.ones(60, int), x > 0], axis=1),
    }
    found = dependence(X, np.arange(60) % 2)
    assert np.isfinite(found.log_bayes_factor).all()
    assert_array_equal(found.mutual_information[2], 0.0)
    assert_array_equal(found.log_bayes_factor[2, :3], 0.0)
    assert_allclose(found.mutual_information[0, 1], 0.5 * np.log(31))  # as much as 30 rows a class can show
    assert found.strongest(1)[0][:2] == ("real_0", "real_1")


def test_without_rows_in_a_class_or_a_pair_there_is_no_evidence():
    X = np.array([[0.1, np.nan], [0.4, np.nan], [np.nan, 1.0]])
    found = dependence(X, [0, 2, 2])
    assert_array_equal(found.log_bayes_factor, 0.0)
    assert_array_equal(found.mutual_information, 0.0)


# what a column is


def test_types_say_what_a_column_is_and_a_model_overrules_them(rng):
    X, y = mixed_rows(rng, missing=0.0)
    typed = {"flags": X["flags"].astype(bool), "blood": X["blood"].astype(np.int8), "vitals": X["vitals"]}
    found = dependence(typed, y)
    assert found.names == ("flags_0", "flags_1", "blood_0", "vitals_0", "vitals_1", "vitals_2")
    same(found, dependence(X, y, model=MODEL))
    assert found.log_bayes_factor[0, 1] != dependence(X, y).log_bayes_factor[0, 1]
    holes = typed | {"blood": np.where(np.arange(200)[:, None] < 9, -1, typed["blood"])}
    nans = X | {"blood": np.where(np.arange(200)[:, None] < 9, np.nan, X["blood"])}
    same(dependence(holes, y), dependence(nans, y, model=MODEL))


@pytest.mark.slow
def test_columns_that_are_unique_depend_on_nothing(rng):
    """A category that is seen once leaves the other column at its prior mean, and so beats one that has to learn."""
    unique, flag = rng.permuted(np.tile(np.arange(500), (2, 1)), axis=1), rng.integers(0, 2, 500)
    found = nb.dependence(np.c_[unique.T, flag, flag ^ (rng.random(500) < 0.35)], rng.integers(0, 2, 500))
    assert found.nearly_unique == (0, 1)
    assert found.log_bayes_factor[0, 1] > found.log_bayes_factor[2, 3] > 5
    first, *others = found.strongest(6)
    assert (first.first, first.second) == ("2", "3")
    assert first.per_row > 0
    assert all(pair.per_row == 0 for pair in others)


def test_the_strongest_pairs_come_first(rng):
    found = dependence(*mixed_rows(rng), model=MODEL)
    pairs = found.strongest(100)
    assert len(pairs) == 15
    assert pairs[0][:2] == ("vitals_0", "vitals_1")
    assert pairs == sorted(pairs, key=lambda pair: (pair.per_row == 0, -pair.log_bayes_factor))
    position = {name: d for d, name in enumerate(found.names)}
    for first, second, nats, evidence, _ in pairs:
        assert found.mutual_information[position[first], position[second]] == nats
        assert found.log_bayes_factor[position[first], position[second]] == evidence


REAL, CODES = np.random.default_rng(0).normal(size=(6, 2)), np.arange(12).reshape(6, 2) % 3
Y = np.array([0, 1, 0, 1, 0, 1])

MISTAKES = {
    "one column": (lambda: dependence(REAL[:, :1], Y), "between two columns, X has 1"),
    "no block": (lambda: dependence({}, Y), "between two columns, X has 0"),
    "codes too large": (
        lambda: dependence(CODES + 2020, Y),
        "column 0: integers must be categories 0..999, got 20",
    ),
    "another family": (
        lambda: dependence(CODES, Y, model=nb.NaiveBayes(nb.Multinomial())),
        "block 'x' is Multinomial: pairs have a closed form for Bernoulli, Categorical, Histogram and Normal",
    ),
    "no model": (lambda: dependence(REAL, Y, model=nb.Normal()), "model must be a NaiveBayes, got Normal"),
    "an infinite cell": (lambda: dependence(REAL / np.array([0.0, 1.0]), Y), "a Normal cell is a finite number"),
    "a fraction": (lambda: dependence(REAL, Y, model=nb.NaiveBayes(nb.Categorical(3))), "is a whole code"),
    "other blocks": (lambda: dependence({"z": REAL}, Y, model=MODEL), "the names must be the same"),
    "no labels": (lambda: dependence(REAL, None), "y is missing"),
    "labels of other rows": (lambda: dependence(REAL, Y[:3]), "y must be integers [6]"),
    "negative weights": (
        lambda: dependence(REAL, Y, sample_weight=-np.ones(6)),
        "sample_weight must be finite, not negative",
    ),
    "strings": (lambda: dependence(np.array([["a", "b"]] * 6), Y), "must hold numbers"),
    "a transformation": (
        lambda: jax.jit(lambda x: dependence(x, Y).mutual_information)(REAL),
        "inside a JAX trans",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_mistakes_are_told_in_a_sentence(mistake):
    call, message = MISTAKES[mistake]
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
