"""Forests of dependence, against the sum over all forests of products of one-step predictives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.learned.forests.oracle import Column, Oracle
from tests.learned.forests.rows import BLOCKS, MODEL, K, N, X, Y, copies, part


def columns_of(prior: nb.NaiveBayes) -> list[list[Column]]:
    """The priors of all columns by class, from the resolved model."""
    numbers, flags, kinds = (prior.families[name] for name in BLOCKS)
    real = np.stack([numbers.loc, numbers.strength, numbers.shape, numbers.rate], axis=-1)
    return [
        [
            *(Column(real[k, d], True) for d in range(2)),
            Column(np.array([flags.b[k, 0], flags.a[k, 0]]), False),
            Column(kinds.concentration[k, :3], False),
            Column(kinds.concentration[k, 3:], False),
        ]
        for k in range(K)
    ]


@pytest.fixture(scope="module")
def fit():
    return nb.fit_forests(MODEL, X, Y)


@pytest.fixture(scope="module")
def oracle(fit):
    x = np.concatenate([*X.values()], axis=1)
    return Oracle(columns_of(fit.posterior.prior), np.full(K, 2.0), x, Y)


def test_the_evidence_averages_all_forests(fit, oracle):
    assert len(oracle.forests) == 1296
    assert_allclose(fit.log_evidence, oracle.log_evidence, rtol=1e-12)


def test_predictions_average_all_forests(fit, oracle):
    for n in range(3):
        assert_allclose(fit.log_joint(part([n]))[0], oracle.log_joint(oracle.x[n]), rtol=1e-11)
    joint = fit.log_joint(X)
    assert_allclose(fit.log_density(X), np.logaddexp(*joint.T), rtol=1e-12)
    assert_allclose(fit.predict_proba(X), np.exp(joint - fit.log_density(X)[:, None]), rtol=1e-9)
    assert_array_equal(fit.predict(X), joint.argmax(axis=1))


def test_edges_and_roots_are_those_of_all_forests(fit, oracle):
    assert_allclose(fit.edge_probs, oracle.edge_probs(), atol=1e-12)
    assert_allclose(fit.root_probs, 1 - oracle.edge_probs().sum(axis=0), atol=1e-12)
    assert (fit.edge_probs[:2, 2:] == 0).all()  # categories do not depend on a real feature


def test_the_best_forest_is_the_most_probable_one(oracle):
    best = nb.fit_forests(MODEL, X, Y, structure="best")
    forest = oracle.forests[np.argmax(oracle.shares)]
    assert_array_equal(best.parents, forest)
    assert_allclose(best.root_probs, [parent < 0 for parent in forest])
    evidence = oracle.of_forest(oracle.edges, oracle.alone, forest)
    assert_allclose(best.log_evidence, evidence + oracle._labels(), rtol=1e-12)
    steps = [oracle.steps(k, oracle.by_class[k], oracle.x[0]) for k in range(K)]
    shares = np.log(oracle.class_counts / oracle.class_counts.sum())
    expected = [oracle.of_forest(*steps[k], forest) + shares[k] for k in range(K)]
    assert_allclose(best.log_joint(part([0]))[0], expected, rtol=1e-11)


def test_one_dependence_estimators_are_averaged(oracle):
    fit, shares = nb.fit_forests(MODEL, X, Y, structure="aode"), oracle.class_counts / oracle.class_counts.sum()
    expected = []
    for k in range(K):
        edges, alone = oracle.steps(k, oracle.by_class[k], oracle.x[3])
        given = np.where(np.isinf(edges), alone[None, :], edges)  # also the parent itself
        expected.append(np.log(shares[k] * np.exp(given.sum(axis=1)).mean()))
    assert_allclose(fit.log_joint(part([3]))[0], expected, rtol=1e-11)
    with pytest.raises(ValueError, match='log_evidence needs a posterior over forests, which "aode" has not'):
        _ = fit.log_evidence
    with pytest.raises(ValueError, match="edge_probs needs a posterior over forests"):
        _ = fit.root_probs


@pytest.mark.parametrize("structure", ["average", "best", "aode"])
def test_weights_are_repeated_rows_and_soft_labels_are_weights(structure):
    weight = np.random.default_rng(2).integers(0, 4, N)
    repeated = np.repeat(np.arange(N), weight)
    first = nb.fit_forests(MODEL, X, Y, structure=structure, sample_weight=weight)
    second = nb.fit_forests(MODEL, part(repeated), Y[repeated], structure=structure)
    soft = nb.fit_forests(MODEL, X, np.eye(K)[Y], structure=structure, sample_weight=weight)
    for other in (second, soft):
        assert_allclose(other.log_joint(X), first.log_joint(X), rtol=1e-9)
        if structure != "aode":
            assert_allclose(other.log_evidence, first.log_evidence, rtol=1e-9)


def test_any_split_merges_to_the_whole():
    rows = dict(
        part(slice(None)), numbers=np.where(np.random.default_rng(3).random((N, 2)) < 0.2, np.nan, X["numbers"])
    )
    prior = MODEL.resolve(rows, Y)
    fit = nb.fit_forests(prior, rows, Y)
    whole = fit.pairs
    cuts = [slice(0, 3), slice(3, 3), slice(3, 9), slice(9, N)]
    parts = [nb.fit_forests(prior, part(cut, rows), Y[cut]).statistics for cut in cuts]
    merged = nb.merge(nb.merge(parts[0], parts[1]), nb.merge(parts[2], parts[3]))
    again = nb.fit_forests(MODEL, statistics=merged)
    assert_allclose(again.log_joint(X), fit.log_joint(X), rtol=1e-9)
    assert_allclose(again.log_evidence, fit.log_evidence, rtol=1e-9)
    for found, expected in (
        (merged.pairs.blocks["numbers"], whole.blocks["numbers"]),
        (merged.pairs.reals, whole.reals),
    ):
        for name, _ in expected.axes:
            seen = expected.count > 0  # the mean of no cells is nothing
            assert_allclose(getattr(found, name) * seen, getattr(expected, name) * seen, atol=1e-12)
    assert_allclose(merged.pairs.categories.counts, whole.categories.counts)


def test_columns_and_blocks_in_another_order():
    fit = nb.fit_forests(MODEL, X, Y)
    blocks = {"kinds": nb.Categorical((2, 3), concentration=[1.0, 1.0, 0.5, 1.0, 2.0]), "numbers": BLOCKS["numbers"]}
    model = nb.NaiveBayes({**blocks, "flags": BLOCKS["flags"]}, class_concentration=2.0)
    moved = {**X, "kinds": X["kinds"][:, ::-1]}
    other = nb.fit_forests(model, moved, Y)
    assert_allclose(other.log_joint(moved), fit.log_joint(X), rtol=1e-10)
    order = [4, 3, 0, 1, 2]
    assert_allclose(other.edge_probs, fit.edge_probs[np.ix_(order, order)], atol=1e-12)


def test_a_missing_cell_has_no_edge():
    """Without its only partner a feature is Naive Bayes'."""
    model = nb.NaiveBayes({"numbers": nb.Normal()})
    fit = nb.fit_forests(model, {"numbers": X["numbers"]}, Y)
    rows = {"numbers": np.array([[0.5, np.nan], [np.nan, 1.0], [np.nan, np.nan], [0.5, 1.0]])}
    found, plain = fit.log_joint(rows), fit.posterior.log_joint(rows)
    assert_allclose(found[:3], plain[:3], rtol=1e-12)
    assert (np.abs(found[3] - plain[3]) > 0.01).all()


def test_independent_features_are_naive_bayes_in_the_limit(rng):
    y = np.arange(4000) % 2
    x = {"numbers": rng.normal(size=(4000, 2)) + y[:, None], "flags": rng.integers(0, 2, (4000, 2))}
    model = nb.NaiveBayes({"numbers": nb.Normal(), "flags": nb.Bernoulli()})
    fit = nb.fit_forests(model, x, y)
    assert fit.edge_probs.max() < 0.1
    assert_allclose(fit.predict_proba(x), fit.posterior.predict_proba(x), atol=0.02)
    x["flags"][:, 1] = x["flags"][:, 0]
    x["numbers"][:, 1] = x["numbers"][:, 0] + x["flags"][:, 0]
    tied = nb.fit_forests(model, x, y)  # the evidence of both edges is thousands of nats
    assert (tied.edge_probs + tied.edge_probs.T)[[0, 2], [1, 3]].min() > 1 - 1e-9


def test_a_constant_column_says_nothing_and_a_single_one_has_no_edges():
    model = nb.NaiveBayes(nb.Normal())
    x = np.c_[X["numbers"], np.full(N, 3.0)]
    fit = nb.fit_forests(model, x, Y)
    other = np.c_[X["numbers"], np.full(N, -7.0)]
    assert_allclose(fit.log_joint(other), fit.log_joint(x), rtol=1e-12)
    assert np.isfinite(fit.log_evidence)
    alone = nb.fit_forests(model, X["numbers"][:, :1], Y)
    assert_allclose(alone.log_joint(X["numbers"][:, :1]), alone.posterior.log_joint(X["numbers"][:, :1]), rtol=1e-12)
    assert_allclose(alone.edge_probs, [[0.0]])


@pytest.mark.parametrize("structure", ["average", "best", "aode"])
def test_columns_of_one_category_are_left_out(rng, structure):
    """Such as a histogram's without cuts: the forests are those of the other columns, under their own names."""
    sizes, several = (1, 3, 1, 2, 3), [1, 3, 4]
    codes = np.stack([rng.integers(0, size, N) for size in sizes], axis=1)
    codes[:, 4] = np.where(rng.random(N) < 0.7, codes[:, 1], codes[:, 4])
    models = [nb.NaiveBayes(nb.Categorical(of)) for of in (sizes, (3, 2, 3))]
    fit, others = (
        nb.fit_forests(model, x, Y, structure=structure)
        for model, x in zip(models, (codes, codes[:, several]), strict=True)
    )
    assert_allclose(fit.predict_log_proba(codes), others.predict_log_proba(codes[:, several]), rtol=1e-12)
    assert_allclose(nb.leave_one_out(fit, codes, Y), nb.leave_one_out(others, codes[:, several], Y), rtol=1e-12)
    if structure == "best":
        assert_array_equal(fit.parents[[0, 2]], -1)
        own = others.parents
        assert_array_equal(fit.parents[several], np.where(own < 0, -1, np.array(several)[own]))
    if structure != "aode":
        assert_allclose(fit.log_evidence - others.log_evidence, 0.0, atol=1e-9)
        assert_allclose(fit.edge_probs[np.ix_(several, several)], others.edge_probs, rtol=1e-12)
        assert fit.edge_probs.sum() == pytest.approx(others.edge_probs.sum())


@pytest.mark.parametrize("family", [nb.Normal(), nb.Bernoulli()])
def test_no_columns(family):
    fit = nb.fit_forests(nb.NaiveBayes(family), np.zeros((4, 0)), [0, 1, 1, 1])
    assert_allclose(fit.predict_proba(np.zeros((1, 0))), [[1 / 3, 2 / 3]])
    assert_allclose(fit.log_evidence, fit.posterior.log_evidence)


def test_forests_compare_with_naive_bayes_by_their_evidence(fit):
    compared = nb.compare_evidence({"forests": fit, "naive": fit.posterior})
    assert_allclose(compared.log_bayes_factor("forests", "naive"), fit.log_evidence - fit.posterior.log_evidence)
    with pytest.raises(ValueError, match="log_evidence needs a posterior over forests"):
        nb.compare_evidence({"aode": nb.fit_forests(MODEL, X, Y, structure="aode"), "naive": fit.posterior})


@pytest.mark.slow
@pytest.mark.parametrize("structure", cases.by_default(["average", "best", "aode"], "average"))
def test_jax_rows_and_jit(structure):
    fit = nb.fit_forests(MODEL, X, Y, structure=structure)
    expected = fit.predict_log_proba(X)
    rows = jax.tree.map(jnp.asarray, X)
    of_jax_rows = nb.fit_forests(MODEL, rows, jnp.asarray(Y), structure=structure)
    assert_allclose(of_jax_rows.predict_log_proba(X), expected, rtol=1e-3, atol=1e-3)
    found = fit.predict_log_proba(rows)
    assert isinstance(found, jax.Array)
    assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    inside = jax.jit(lambda fit, rows: fit.predict_log_proba(rows))(fit, rows)
    assert_allclose(inside, expected, rtol=1e-3, atol=1e-3)
    closed = jax.jit(lambda rows: fit.predict_proba(rows))(rows)
    assert_allclose(closed, np.exp(expected), rtol=1e-3, atol=1e-3)
    moved = fit.with_class_probs([0.2, 0.8]).log_joint(X)
    shift = np.log([0.2, 0.8]) - np.log(fit.model.class_mean())
    assert_allclose(moved - fit.log_joint(X), np.tile(shift, (N, 1)), rtol=1e-9)


def test_what_is_refused():
    flags = np.zeros((4, 300))
    with pytest.raises(ValueError, match=r"at most 256 features, got 300: use the powers of nb\.temper"):
        nb.fit_forests(nb.NaiveBayes(nb.Bernoulli()), flags, [0, 1, 0, 1])
    for family in (nb.Normal(variance="shared"), nb.MultivariateNormal(covariance="shared")):
        with pytest.raises(ValueError, match=rf"block 'x' is {type(family).__name__}.*whose classes share parameters"):
            nb.fit_forests(nb.NaiveBayes(family), flags[:, :3], [0, 1, 0, 1])
    words = scipy.sparse.csr_matrix(flags[:, :3])
    with pytest.raises(ValueError, match=r"block 'x' is a sparse matrix, but an array is needed here: give x\.toarray"):
        nb.fit_forests(nb.NaiveBayes(nb.Bernoulli()), words, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="a Normal cell is a finite number"):
        nb.fit_forests(nb.NaiveBayes(nb.Normal()), [[1.0, np.inf], [0.0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match="structure must be 'average', 'best', 'aode', got 'tree'"):
        nb.fit_forests(MODEL, X, Y, structure="tree")
    with pytest.raises(ValueError, match="cannot run inside a JAX transformation"):
        jax.jit(lambda rows: nb.fit_forests(MODEL, rows, Y).log_joint(rows))(X)
    with pytest.raises(
        ValueError,
        match=r"statistics of pairs and not both: .*pairs=True",
    ):
        nb.fit_forests(MODEL, statistics=nb.sufficient_statistics(MODEL, X, Y))
    with pytest.raises(ValueError, match="give rows, X and y, or statistics"):
        nb.fit_forests(MODEL)
    with pytest.raises(ValueError, match="statistics of different models cannot be merged"):
        nb.merge(nb.fit_forests(MODEL, X, Y).statistics, nb.sufficient_statistics(MODEL, X, Y))
    with pytest.raises(ValueError, match="has no draws"):
        nb.fit_forests(MODEL, X, Y).generate(key=jax.random.key(0), num_rows=3)


def test_rows_that_would_leave_an_impossible_correlation_are_refused():
    """Each of their columns may have been counted; together they were not."""
    model = nb.NaiveBayes(nb.Normal(), num_classes=1)

    def counted(X):
        return nb.fit_forests(model, np.add(X, [1e5, 0.0]), np.zeros(len(X), int)).statistics

    whole = counted([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    assert_allclose(nb.subtract(whole, counted([[1.0, 1.0]])).pairs.reals.product[0, 0, 1], 0.5, atol=1e-4)
    with pytest.raises(ValueError, match="two columns would be correlated by more than one"):
        nb.subtract(whole, counted([[1.0, -1.0]]))


def test_directions_that_are_equally_probable_do_not_depend_on_the_order_of_rows(rng):
    x, y = copies(rng, 60)
    model = nb.NaiveBayes(nb.Normal()).resolve(x, y)
    parents = [nb.fit_forests(model, x, y, structure="best").parents]
    for _ in range(10):
        order = rng.permutation(60)
        parents.append(nb.fit_forests(model, x[order], y[order], structure="best").parents)
    assert_array_equal(parents, np.tile(parents[0], (11, 1)))
    assert (parents[0] >= 0).sum() == 5
