"""What the default learns: powers as ``temper`` does, and shares of parts, by brute force on rows left out."""

import io
from dataclasses import replace

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.sparse
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.families._views import generative
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.learned.validation._default import NUM_FOLDS, fit_default
from bayesnb.learned.validation._ratio_table import part_of
from tests import cases
from tests.learned.forests.stacked import BLOCKS, FAMILIES, KINDS, STRUCTURES, N, Y, learn, rows_of, stacked

MODEL = nb.NaiveBayes({"numbers": nb.Normal(), "kinds": nb.Categorical(3)})
X = rows_of("categories")
VIEWS = FAMILIES["numbers"]


def deal(prior, X, y):
    """The fold of each row: one after the other by left-out log odds, class by class, that of the highest odds last."""
    left, own = nb.leave_one_out(prior, X, y), np.eye(prior.num_classes or y.max() + 1, dtype=bool)[y]
    against = scipy.special.logsumexp(np.where(own, -np.inf, left), axis=1) - left[own]
    highest = np.array([against[y == k].max() for k in y])
    _, numbers = np.unique(np.c_[highest, against].round(7), axis=0, return_inverse=True)  # rows may tie
    return numbers % NUM_FOLDS


def left_out_predictions(fit, weight, rows=range(N)):
    """p(y | x, the other rows) of each part under its powers, from fits without each of these rows, edges kept."""
    found = np.empty((N, len(fit.parts)))
    for n in rows:
        left = np.where(np.arange(N) == n, np.maximum(weight - 1.0, 0.0), weight)
        row = {name: x[[n]] for name, x in X.items()}
        exact = nb.fit_posterior(fit.prior, X, Y, sample_weight=left)
        pairs = nb.fit_forests(fit.prior, X, Y, sample_weight=left).pairs
        parts = [replace(fit.alone, model=exact.model, statistics=exact.statistics)]
        for one in fit.forests.values():
            parts.append(replace(one, posterior=replace(parts[0], powers=one.posterior.powers), pairs=pairs))
        found[n] = [part.predict_proba(row)[0, Y[n]] for part in parts]
    return found[rows]


def test_shares_are_those_of_rows_left_out(rng):
    """By EM, with pseudo-counts of two rows without dependence and one for each forest, and weighted rows."""
    weight = rng.integers(1, 3, N).astype(float)
    fit = learn(nb.fit_posterior(MODEL, X, Y, sample_weight=weight), X, Y, weight)
    probs = left_out_predictions(fit, weight)
    shares = np.full(3, 1 / 3)
    for _ in range(5000):
        own = shares * probs
        counts = weight @ (own / own.sum(axis=1, keepdims=True)) + [2.0, 1.0, 1.0]
        shares = counts / counts.sum()
    assert_allclose(fit.shares, shares, atol=1e-3)
    assert np.ptp(shares) > 0.02
    losses = -(weight @ np.log(np.column_stack([probs, probs @ fit.shares]))) / weight.sum()
    assert_allclose(fit.log_losses, losses, rtol=1e-6)


@pytest.mark.parametrize(
    ("weighted", "missing"),
    [(True, True), *(pytest.param(False, missing, marks=pytest.mark.slow) for missing in (True, False))],
)
def test_covariances_learn_powers_and_are_judged_by_rows_left_out(weighted, missing, rng):
    """Rows that lack a number teach them nothing, and are judged by those they have; other blocks are as they are."""
    X = {**rows_of("categories")}
    if not missing:
        X["numbers"] = np.nan_to_num(X["numbers"])
    weight = rng.integers(1, 3, N).astype(float) if weighted else np.ones(N)
    prior = nb.NaiveBayes({name: FAMILIES[name] for name in X})
    fit = learn(nb.fit_posterior(prior, X, Y, sample_weight=weight), X, Y, weight)
    lacks = np.isnan(X["numbers"]).any(axis=1)
    assert lacks.sum() > 10 or not missing
    whole = {**X, "numbers": np.where(lacks[:, None], np.nan, X["numbers"])}
    assert [*fit.normals] == ["lda", "qda"]
    for part, covariance, loss in zip(fit.normals.values(), ["shared", "full"], fit.log_losses[3:5], strict=True):
        assert part.model.families["numbers"].covariance == covariance
        exact = nb.fit_posterior(part.prior, whole, Y, sample_weight=weight)
        if not missing:
            own = nb.temper(exact, X, Y, per_feature=True, sample_weight=weight)
            assert_allclose(part.predict_log_proba(X), own.predict_log_proba(X), rtol=1e-9, atol=1e-12)
        nats = np.empty(N)
        for n in range(N):
            left = np.where(np.arange(N) == n, weight - 1.0, weight)
            again = nb.fit_posterior(part.prior, whole, Y, sample_weight=left).with_powers(part.powers)
            nats[n] = -again.predict_log_proba({name: x[[n]] for name, x in X.items()})[0, Y[n]]
        assert_allclose(loss, weight @ nats / weight.sum(), rtol=1e-6)


@pytest.mark.slow
def test_covariances_of_few_rows_must_convince_folds(monkeypatch, rng):
    """Fits to the other folds, whose priors have not seen the row; leave-one-out counts where its loss is larger."""
    y = np.arange(24) % 3
    x = 0.3 * y[:, None] + rng.normal(size=(24, 12))
    fit = learn(nb.fit_posterior(nb.NaiveBayes(VIEWS), x, y), x, y)
    fold_of = deal(fit.prior, x, y)
    by_folds = []
    losses = dict(zip(fit.parts, fit.log_losses, strict=False))
    for name, part in fit.normals.items():
        family, joint = nb.MultivariateNormal(part.model.families["x"].covariance), np.empty((24, 3))
        for n in range(24):
            others = fold_of != fold_of[n]
            density = nb.fit_posterior(nb.NaiveBayes(family), x[others], y[others]).log_joint(x[[n]])
            prior = 1.0 + np.bincount(y[others], minlength=3)
            left = 1.0 + np.bincount(np.delete(y, n), minlength=3)
            log_p = density[0] - np.log(prior / prior.sum())
            joint[n] = np.log(left / left.sum()) + float(part.powers["x"][0]) * log_p
        loss = np.mean(np.logaddexp.reduce(joint, axis=1) - joint[np.arange(24), y])
        by_folds.append(losses[name] == pytest.approx(loss, rel=1e-6))
    monkeypatch.setattr(limits, "FEW_ROWS", 0)
    plain = learn(nb.fit_posterior(nb.NaiveBayes(VIEWS), x, y), x, y)
    alone = dict(zip(plain.parts, plain.log_losses, strict=False))
    assert by_folds == [losses[name] > alone[name] for name in fit.normals]
    assert any(by_folds)


@pytest.mark.parametrize(
    ("family", "columns", "most"),
    [
        (nb.Normal(), 3, None),
        (nb.Views(nb.NormalScores(), nb.Histogram()), 3, None),
        (VIEWS, 1, None),
        (VIEWS, 3, 4000),
    ],
)
def test_chosen_numbers_single_ones_and_very_many_have_no_covariance(family, columns, most, monkeypatch):
    if most is not None:
        monkeypatch.setattr(limits, "MOST_PRODUCTS", most)  # 3 classes x 3 x 3 numbers x (120 rows + 30) are 4,050
    rows = {"numbers": BLOCKS["numbers"][:, :columns], "kinds": BLOCKS["kinds"]}
    fit = learn(nb.fit_posterior(nb.NaiveBayes({"numbers": family, "kinds": nb.Categorical(3)}), rows, Y), rows, Y)
    assert fit.parts == ("columns", "best", "aode")


@pytest.mark.slow
def test_a_column_without_a_number_changes_no_covariance():
    """Where no row is whole there is none."""
    x, gone = np.nan_to_num(BLOCKS["numbers"]), np.full((N, 1), np.nan)
    fits = [learn(nb.fit_posterior(nb.NaiveBayes(VIEWS), rows, Y), rows, Y) for rows in (x, np.hstack([x, gone]))]
    for name, part in fits[0].normals.items():
        other = fits[1].normals[name]
        assert_allclose(other.predict_proba(np.hstack([x, gone])), part.predict_proba(x), rtol=1e-6)
    holes = x.copy()
    holes[np.arange(N), np.arange(N) % 3] = np.nan
    assert not learn(nb.fit_posterior(nb.NaiveBayes(VIEWS), holes, Y), holes, Y).normals


def test_covariances_need_no_forests(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MOST_PAIRS", 1)
    x = np.nan_to_num(BLOCKS["numbers"])
    fit = learn(nb.fit_posterior(nb.NaiveBayes(VIEWS), x, Y), x, Y)
    assert fit.parts == ("columns", "lda", "qda")
    probs = np.stack([part.predict_proba(x) for part in (fit.alone, *fit.normals.values())])
    assert_allclose(fit.predict_proba(x), np.einsum("m,mnk->nk", fit.shares, probs), rtol=1e-9)
    nb.save(fit, tmp_path / "fit")
    assert_array_equal(nb.load(tmp_path / "fit").predict_proba(x), fit.predict_proba(x))
    with pytest.raises(ValueError, match="pairs and structures belong together"):
        nb.save(replace(fit, structures=("best",), forest_powers=((fit.powers, np.ones(())),), shares=np.full(4, 0.25),
                        log_losses=np.ones(5)), tmp_path / "odd")  # fmt: skip


@pytest.mark.parametrize("kind", cases.by_default(KINDS, "words"))
def test_powers_are_those_that_temper_learns(kind):
    """Of the posterior alone, and of each forest, whose ratio is one feature more."""
    fit, rows = stacked(kind), rows_of(kind)
    exact = nb.Posterior(fit.prior, fit.model, fit.statistics)
    alone = nb.temper(exact, rows, Y, per_feature=True)
    assert_allclose(fit.alone.predict_log_proba(rows), alone.predict_log_proba(rows), rtol=1e-9, atol=1e-12)
    for structure, part in fit.forests.items():
        concentration = fit.prior.class_concentration
        bins = fit.prior.with_hyperparameters({b: generative(f) for b, f in fit.prior.families.items()}, concentration)
        forest = nb.temper(nb.fit_forests(bins, rows, Y, structure=structure), rows, Y, per_feature=True)
        assert_array_equal(part.parents, forest.parents)
        assert_allclose(part.predict_proba(rows), forest.predict_proba(rows), atol=0.01)
        assert_allclose(part.power, forest.power, atol=0.02)
        (single,) = [learn(exact, rows, Y, structures=(structure,))]
        assert isinstance(single, nb.results.ForestPosterior)
        assert_allclose(single.predict_proba(rows), part.predict_proba(rows), rtol=1e-9)
    assert isinstance(learn(exact, rows, Y, structures=("columns",)), nb.Posterior)


def test_margins_of_forests_are_those_of_the_histogram(rng):
    """A forest of views is that of their Histogram alone, as ``temper`` finds its powers."""
    y = rng.integers(0, 2, 150)
    x = np.exp(rng.normal(size=(150, 3)) + rng.normal(size=(150, 1)) + y[:, None])
    views, bins = nb.NaiveBayes(VIEWS), nb.NaiveBayes(nb.Histogram())
    fit = learn(nb.fit_posterior(views, x, y), x, y)
    for structure, part in fit.forests.items():
        forest = nb.temper(nb.fit_forests(bins, x, y, structure=structure), x, y, per_feature=True)
        assert_allclose(part.predict_proba(x), forest.predict_proba(x), rtol=1e-9)
        assert_array_equal(part.posterior.powers["x"][:6], np.zeros(6))
    assert (fit.alone.powers["x"] > 0.0).all()


@pytest.mark.slow
def test_a_part_of_the_rows_speaks_for_all(monkeypatch):
    """Left out of the fit to all, with the weight of all rows of their class, in any order of the rows."""
    for name, value in {"LEARNED_RATIOS": 1, "ROWS_A_POWER": 4, "FEWEST_LEARNED": 10, "FEWEST_OF_CLASS": 5}.items():
        monkeypatch.setattr(limits, name, value)
    exact = nb.fit_posterior(MODEL, X, Y)
    fit, num_learned, *_ = fit_default(exact, X, Y, None, by_feature=[*X], structures=STRUCTURES)
    part = part_of(exact, label_rows(exact.model, X, Y), 6)
    assert num_learned == part.num_rows < 40
    assert_array_equal(fit.pairs.reals.count[:, 2, 2], np.bincount(Y, ~np.isnan(X["numbers"][:, 2])))
    whole, some = (np.nan_to_num(of["numbers"]) for of in (X, part.arrays))
    rows = np.flatnonzero((whole[:, None] == some[None]).all(axis=2).any(axis=1))
    probs, weight = left_out_predictions(fit, np.ones(N), rows), 1.0 / np.bincount(Y[rows])[Y[rows]]
    losses = -(weight @ np.log(np.column_stack([probs, probs @ fit.shares]))) / weight.sum()
    assert_allclose(fit.log_losses, losses, rtol=1e-6)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(N)
        again = learn(exact, {name: x[order] for name, x in X.items()}, Y[order])
        assert_allclose(again.predict_proba(X), fit.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize(
    ("names", "first"), [pytest.param(("numbers",), 40, marks=pytest.mark.slow), (("kinds", "words"), 48)]
)
def test_forests_of_few_rows_must_convince_folds(names, first, monkeypatch):
    """Fits to the other folds, which find their segments and edges anew; the columns' terms leave one row out.

    Leave-one-out, with the segments and edges of all rows, counts where it has the larger loss.
    """
    prior = nb.NaiveBayes({name: FAMILIES[name] for name in names}, num_classes=3)
    rows, y = {name: BLOCKS[name][first : first + 30] for name in names}, Y[first : first + 30]
    fit = learn(nb.fit_posterior(prior, rows, y), rows, y)
    monkeypatch.setattr(limits, "FEW_ROWS", 0)
    plain = learn(nb.fit_posterior(prior, rows, y), rows, y)
    labelled = label_rows(fit.model, rows, y)
    fold_of, judged = deal(fit.prior, rows, y), set()
    for m, (structure, part) in enumerate(fit.forests.items(), start=1):
        nats, found = np.empty(30), set()
        for n in range(30):
            row, rest = labelled.select([n]).arrays, labelled.select(np.arange(30) != n)
            others = labelled.select(fold_of != fold_of[n])
            columns = nb.fit_posterior(fit.prior, rest.arrays, rest.labels.y)
            forest = nb.fit_forests(fit.prior, others.arrays, others.labels.y, structure=structure)
            ratio = forest.log_joint(row) - forest.posterior.log_joint(row)
            own = {"length_exponents": part.posterior.length_exponents, "class_power": part.posterior.class_power}
            joint = columns.with_powers(part.posterior.powers, **own).predict_log_proba(row) + part.power * ratio
            nats[n] = np.logaddexp.reduce(joint[0]) - joint[0, y[n]]
            found.add(str((forest.segments, forest.parents)))
        by_folds = fit.log_losses[m] > plain.log_losses[m]
        judged.add("folds" if by_folds else "leave-one-out")
        assert_allclose(fit.log_losses[m], nats.mean() if by_folds else plain.log_losses[m], rtol=1e-6)
        assert part.power > 0.1
        assert by_folds or (nats.mean() < plain.log_losses[m] and part.power == plain.forests[structure].power)
        assert structure == "aode" or len(found) > 1
    assert judged == ({"folds"} if "numbers" in names else {"folds", "leave-one-out"})


def _apart():
    """Blocks that have no pairs, beside columns that depend on each other: the family and the rows."""
    yield "sparse words", nb.Multinomial(), scipy.sparse.csr_array(rows_of("words")["words"])
    yield "sparse flags", nb.Bernoulli(), scipy.sparse.csr_array((rows_of("words")["words"] > 1).astype(float))
    yield "a variance in common", nb.Normal(variance="shared"), X["numbers"]
    yield "integrals", nb.Likelihood(dist.StudentT, df=4.0), X["numbers"]
    yield "a hurdle of integrals", nb.Hurdle(nb.Likelihood(dist.StudentT, df=4.0), at=0.0), X["numbers"]


APART = {name: block for name, *block in _apart()}


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow if "integrals" in k else ()) for k in APART])
def test_a_block_without_pairs_leaves_the_dependence_between_other_columns(kind):
    """The probabilities of a part are those of the block times those of the forest, once the class prior."""
    family, cells = APART[kind]
    others = nb.NaiveBayes({"numbers": nb.Normal(), "kinds": nb.Categorical(3)})
    model, rows = nb.NaiveBayes({"numbers": nb.Normal(), "block": family, "kinds": nb.Categorical(3)}), {"block": cells}
    exact = nb.fit_posterior(model, X | rows, Y)
    fit, *_ = fit_default(exact, X | rows, Y, None, by_feature=["kinds", "numbers"], structures=STRUCTURES)
    assert fit.apart == ("block",)
    alone = nb.fit_posterior(nb.NaiveBayes({"block": family}), rows, Y)
    for structure, part in fit.forests.items():
        powers, forest = part.posterior, nb.fit_forests(others, X, Y, structure=structure)
        assert_array_equal(part.parents, forest.parents)
        own = {name: powers.powers[name] for name in others.families}
        of_others = replace(forest.posterior, powers=own, class_power=powers.class_power)
        forest = replace(forest, posterior=of_others, power=part.power)
        block = replace(
            alone,
            **{
                "powers": {"block": powers.powers["block"]},
                "length_exponents": powers.length_exponents,
                "class_power": powers.class_power,
            },
        )
        class_probs = np.bincount(Y) + 1.0
        of_class = (1.0 if powers.class_power is None else powers.class_power) * np.log(class_probs / class_probs.sum())
        joint = forest.predict_log_proba(X) + block.predict_log_proba(rows) - of_class
        expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        assert_allclose(part.predict_log_proba(X | rows), expected, rtol=1e-7, atol=1e-9)
        assert part.power > 0.01
    file = io.BytesIO()
    nb.save(fit, file)
    assert_array_equal(nb.load(file.getvalue()).predict_proba(X | rows), fit.predict_proba(X | rows))


def test_dependence_that_costs_too_much_or_cannot_be_is_left_out(monkeypatch):
    exact, kinds = nb.fit_posterior(MODEL, X, Y), X["kinds"][:, :1]
    one = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3)), kinds, Y)
    shared = nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance="shared")), X["numbers"], Y)
    for fit, rows in ((one, kinds), (shared, X["numbers"])):
        assert type(learn(fit, rows, Y)) is nb.Posterior
    assert isinstance(learn(exact, X, Y), nb.results.StackedPosterior)
    for name in ("MOST_PAIRS", "MOST_PAIR_RATIOS"):
        with monkeypatch.context() as patch:
            patch.setattr(limits, name, 10)
            assert type(learn(exact, X, Y)) is nb.Posterior


def _tables():
    rng, y = np.random.default_rng(3), np.arange(40) % 3
    x = rng.normal(size=(40, 3)) + y[:, None]
    yield "one column", x[:, :1], y
    yield "no column", x[:, :0], y
    yield "constant columns", np.c_[x[:, :2], np.ones((40, 2))], y
    yield "only constants", np.ones((40, 2)), y
    yield "a column without cells", np.c_[x[:, :2], np.full(40, np.nan)], y
    yield "no cells", np.full((40, 2), np.nan), y
    yield "one class", x, np.zeros(40, int)
    yield "two classes of three", x, np.minimum(y, 1)
    yield "a class of one row", x, np.append(np.zeros(39, int), 2)
    yield "two rows", x[:2], y[:2]
    yield "a row that outweighs the others", x, y, np.where(np.arange(40) == 7, 1e20, 1.0)
    yield "rows of little weight", x, y, np.full(40, 1e-9)


TABLES = {name: table for name, *table in _tables()}


@pytest.mark.parametrize("family", cases.by_default(["numbers", "kinds"], "kinds"))
@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_nan(name, family):
    rows, y, *weight = TABLES[name]
    if family == "kinds":
        rows = np.where(np.isnan(rows), -1, np.clip(np.floor(rows), 0, 2)).astype(int)
    own = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()) if family == "numbers" else nb.Categorical(3)
    num_classes = 1 if name == "one class" else 3
    exact = nb.fit_posterior(nb.NaiveBayes(own, num_classes=num_classes), rows, y, sample_weight=(*weight, None)[0])
    for structures in (STRUCTURES, ("best",), ("aode",)):
        fit = learn(exact, rows, y, *weight, structures=structures)
        assert_allclose(fit.predict_proba(rows).sum(axis=1), 1.0)
        assert np.isfinite(fit.predict_log_proba(rows)).all()
        assert not np.isnan(fit.log_joint(rows)).any()


@pytest.mark.slow
def test_left_out_losses_are_those_of_folds():
    """Edges and powers are learned on all rows, so the losses are hardly too good: iris, ten folds, twice."""
    x, y = load_iris(return_X_y=True)
    own = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())

    def fit_to(rows):
        exact = nb.fit_posterior(nb.NaiveBayes(own, num_classes=3), x[rows], y[rows])
        return fit_default(exact, x[rows], y[rows], None, by_feature=["x"], structures=STRUCTURES)[0]

    losses = []
    for seed in (0, 1):
        for some, rest in StratifiedKFold(10, shuffle=True, random_state=seed).split(x, y):
            losses.append(-fit_to(some).predict_log_proba(x[rest])[np.arange(len(rest)), y[rest]].mean())
    left_out = fit_to(slice(None)).log_losses[-1]
    assert abs(left_out - np.mean(losses)) < 2.0 * np.std(losses) / np.sqrt(10)


def _mixed(num_rows, gap, rng):
    """Numbers with few decimals, categories and flags that depend on each other; some cells are missing."""
    y = rng.permutation(np.arange(num_rows) % 3)
    near, z = np.where(rng.random(num_rows) < 0.6, y, rng.integers(0, 3, num_rows)), rng.normal(size=num_rows)
    columns = {
        "a": (rng.normal(size=num_rows) + z + (y == 0)).round(1),
        "b": (rng.normal(size=num_rows) + z - y).round(1),
        "c": np.array(["x", "y", "z"])[near],
        "d": np.array(["x", "y", "z"])[np.where(rng.random(num_rows) < 0.7, near, y[::-1])],
        "e": (near == 1) ^ (rng.random(num_rows) < 0.2),
        "f": (near == 1) ^ (rng.random(num_rows) < 0.3),
    }
    X = pd.DataFrame(columns)
    return X.astype(dict.fromkeys("cdef", object)).mask(rng.random(X.shape) < gap), np.array(["p", "q", "r"])[y]


def _say_otherwise():
    """Other words for the same: of columns, of labels, and their order in these."""
    units, values = {"a": 1000.0, "b": 1 / 2.54}, {"x": "9", "y": "A", "z": ".", True: False, False: True}
    say = {
        "columns": lambda X: X[X.columns[::-1]],
        "names": lambda X: X.rename(columns=dict(zip("abcdef", "kjihgo", strict=True))),
        "units": lambda X: X.assign(**{name: X[name] * unit for name, unit in units.items() if name in X}),
        "values": lambda X: X.assign(**{name: X[name].map(values) for name in "cdef" if name in X}),
        "labels": lambda X: X,
    }
    for what, of_columns in say.items():
        labels = {"p": "z", "q": "b", "r": "m"} if what == "labels" else {"p": "p", "q": "q", "r": "r"}
        yield what, of_columns, np.vectorize(labels.get), np.argsort(np.argsort([*labels.values()]))


@pytest.mark.parametrize(
    ("num_rows", "gap", "columns"),
    [
        (60, 0.1, "cdef"),
        pytest.param(20, 0.0, "abcdef", marks=pytest.mark.slow),
        pytest.param(94, 0.0, "ab", marks=pytest.mark.slow),
        pytest.param(60, 0.1, "abcdef", marks=pytest.mark.slow),
        pytest.param(101, 0.1, "abcdef", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:column")
def test_no_order_no_name_and_no_unit_matters(num_rows, gap, columns, rng):
    """Rows occur twice, and are given as weights, too."""
    (X, y), (rows, _) = _mixed(num_rows, gap, rng), _mixed(50, gap, rng)
    X, rows = X[[*columns]], rows[[*columns]]
    twice = np.r_[rng.permutation(num_rows), :5]
    again = nb.NaiveBayesClassifier().fit(X.iloc[twice], y[twice])
    expected = again.predict_proba(rows)
    assert len(again.fit_.parts) > 2
    order = rng.permutation(len(twice))
    found = nb.NaiveBayesClassifier().fit(X.iloc[twice[order]], y[twice[order]]).predict_proba(rows)
    assert_allclose(found, expected, atol=1e-9)
    weight = 1.0 + (np.arange(num_rows) < 5)
    found = nb.NaiveBayesClassifier().fit(X, y, sample_weight=weight).predict_proba(rows)
    assert_allclose(found, expected, atol=1e-9)
    for what, of_columns, of_labels, places in _say_otherwise():
        clf = nb.NaiveBayesClassifier().fit(of_columns(X.iloc[twice]), of_labels(y[twice]))
        assert_allclose(clf.predict_proba(of_columns(rows))[:, places], expected, atol=1e-9, err_msg=what)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_a_class_whose_rows_all_tie_has_a_fold_for_each_of_its_different_rows(names):
    """Which of two flags are alike: alone no flag says anything, and folds of whole classes would learn nothing."""
    rows, labels = [[0, 0], [1, 1], [0, 1], [1, 0]] * 5, ["same", "same", "other", "other"] * 5
    clf = nb.NaiveBayesClassifier("categorical").fit(pd.DataFrame(rows, columns=[*names]).replace({1: 3}), labels)
    losses = {name: part.log_loss for name, part in clf.learned_.parts.items()}
    assert losses["best"] < 0.1 < 0.6 < losses["columns"]
