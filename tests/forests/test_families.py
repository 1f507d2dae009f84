"""Any family as a child of categories, by fits of one feature to the rows of one category in one class."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.families import TiedPoisson

N, K, SIZE = 40, 2, 3
RNG = np.random.default_rng(8)
Y = np.arange(N) % K
PARENT = np.where(RNG.random((N, 1)) < 0.15, np.nan, RNG.integers(0, SIZE, (N, 1)))
MEAN = 0.5 + Y[:, None] + np.nan_to_num(PARENT)
CHILDREN = {
    "poisson": (nb.Poisson(2.0, 0.5), np.where(RNG.random((N, 2)) < 0.1, np.nan, RNG.poisson(MEAN, (N, 2)))),
    "binomial": (nb.Binomial(9, 0.5, 2.0), RNG.binomial(9, MEAN / 6.0, (N, 2)).astype(float)),
    "known variance": (nb.NormalKnownVariance(2.0, 0.5, 3.0), RNG.normal(MEAN, 1.0, (N, 2))),
    "words": (nb.Multinomial(0.7), RNG.poisson(MEAN * [1.0, 2.0, 0.5, 1.0]).astype(float)),
    "together": (nb.MultivariateNormal(), RNG.normal(MEAN, 1.0, (N, 2))),
    "tied": (TiedPoisson(2.0, 0.5, columns=(0, 0)), RNG.poisson(MEAN, (N, 2)).astype(float)),
}  # fmt: skip


@pytest.fixture(params=CHILDREN)
def problem(request):
    family, x = CHILDREN[request.param]
    model = nb.NaiveBayes({"child": family, "parent": nb.Categorical(SIZE)})
    X = {"child": x, "parent": PARENT}
    return model.resolve(X, Y), X


def features_of(prior, x):
    """The prior of each feature in one class, and its cells."""
    own = prior.families["child"]
    if own.one_feature:
        return [(lambda k: jax.tree.map(lambda table: np.asarray(table)[[k]] if np.ndim(table) else table, own), x)]

    def column(d):
        return lambda k: jax.tree.map(lambda table: np.asarray(table)[[k]][:, [d]], own)

    return [(column(d), x[:, [d]]) for d in range(x.shape[1])]


def fit_rows(family, x):
    """The posterior of a feature from rows of one label."""
    return nb.fit_posterior(nb.NaiveBayes(family, num_classes=1), x, np.zeros(len(x), int))


def evidence_of(own, x):
    """The log evidence of the edge from the parent."""
    total = 0.0
    for k in range(K):
        parts = [x[(k == Y) & (PARENT[:, 0] == c)] for c in range(SIZE)]
        total += sum(fit_rows(own(k), part).log_evidence for part in parts)
        total -= fit_rows(own(k), x[(k == Y) & ~np.isnan(PARENT[:, 0])]).log_evidence
    return total


def test_evidence_and_predictions_are_those_of_the_parts(problem):
    prior, X = problem
    fit = nb.fit_forests(prior, X, Y)
    features = features_of(prior, X["child"])
    size = len(features) + 1
    weights = np.exp([evidence_of(*feature) for feature in features]) / size
    assert_allclose(fit.edge_probs[-1, :-1], weights / (1.0 + weights), rtol=1e-9)
    assert fit.edge_probs[:-1].max() == 0.0
    gain = np.log1p(weights).sum() - len(features) * np.log1p(1.0 / size)
    assert_allclose(fit.log_evidence - fit.posterior.log_evidence, gain, rtol=1e-9)
    joint, plain = fit.log_joint(X), fit.posterior.log_joint(X)
    for n, k in [(0, 0), (1, 0), (2, 1), (5, 1)]:
        gain = 0.0
        for (own, x), weight in zip(features, weights, strict=True):
            if np.isnan(PARENT[n, 0]):
                continue
            given, alone = (fit_rows(own(k), x[(k == Y) & rows]) for rows in (PARENT[:, 0] == PARENT[n, 0], True))
            ratio = np.exp(given.log_density(x[[n]]) - alone.log_density(x[[n]]))[0]
            gain += np.log1p(weight * ratio) - np.log1p(weight)
        assert_allclose(joint[n, k] - plain[n, k], gain, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("heaviest", [1, 3])
def test_a_row_leaves_as_if_it_had_never_been(problem, heaviest):
    prior, X = problem
    weight = np.random.default_rng(5).integers(1, heaviest + 1, N).astype(float)
    fit = nb.fit_forests(prior, X, Y, sample_weight=weight)
    joint = nb.leave_one_out(fit, X, Y, sample_weight=weight, joint=True)
    for n in (0, 7):
        others = np.arange(N) != n
        rows = {name: x[others] for name, x in X.items()}
        refit = nb.fit_forests(prior, rows, Y[others], sample_weight=weight[others])
        assert_allclose(joint[n], refit.log_joint({name: x[[n]] for name, x in X.items()})[0], rtol=1e-9, atol=1e-10)


def test_parts_merge_and_stream_and_come_back_from_files(problem, tmp_path):
    prior, X = problem
    fit = nb.fit_forests(prior, X, Y)
    cuts = [({name: x[cut] for name, x in X.items()}, Y[cut]) for cut in (slice(9), slice(9, None))]
    streamed = nb.stream(prior, iter(cuts), num_classes=K, pairs=True)
    left = nb.subtract(streamed, nb.fit_forests(prior, *cuts[0]).statistics)
    again = nb.merge(left, nb.fit_forests(prior, *cuts[0]).statistics)
    for statistics in (streamed, again):
        assert_allclose(nb.fit_forests(prior, statistics=statistics).log_joint(X), fit.log_joint(X), rtol=1e-9)
    nb.save(fit, tmp_path / "forest")
    np.testing.assert_array_equal(nb.load(tmp_path / "forest").log_joint(X), fit.log_joint(X))


@pytest.mark.slow
def test_under_jit(problem):
    prior, X = problem
    fit = nb.fit_forests(prior, X, Y)
    found = jax.jit(lambda fit, rows: fit.predict_log_proba(rows))(fit, jax.tree.map(np.float32, X))
    assert_allclose(found, fit.predict_log_proba(X), rtol=1e-3, atol=1e-3)
