"""Views: several families of one column, each with a power of its own."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import log_softmax, logsumexp

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.primitives._codes import find_bins
from bayesnb.core.results._combine import raise_terms
from bayesnb.learned.validation._leave_one_out import fitted_rows
from bayesnb.learned.validation._ratio_table import left_out_log_ratios
from tests import laws
from tests.served import served

K, N, D = 3, 60, 3


@pytest.fixture(scope="module")
def rows():
    rng, y = np.random.default_rng(11), np.arange(N) % K
    X = rng.normal(1.5 * y[:, None], 1.0, (N, D))
    X[:, 2] = np.maximum(X[:, 2].round(), 0.0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


SHARES = {"two": [0.5, 0.5], "three": [0.5, 0.25, 0.25]}
"""With which a column's powers begin."""


@pytest.fixture(scope="module", params=["two", "three"])
def views(request):
    return request.param


@pytest.fixture(scope="module")
def model(views):
    return nb.NaiveBayes(nb.Views(*[nb.Normal()] * (views == "three"), nb.NormalScores(), nb.Histogram(cells=8)))


@pytest.fixture(scope="module")
def cells():
    return nb.NaiveBayes(nb.Histogram(cells=8))


def log_ratios_of_scores(post):
    """log t_k(z_g) / phi(z_g) of each cell, [K, D, G], from the counts, one class and column at a time."""
    own = post.model.families["x"].generative
    mass, counts = np.asarray(own.mass)[0], np.asarray(own.counts)
    found = np.zeros(counts.shape)
    for d, q in enumerate(mass):
        size = (q > 0).sum()
        q = q[:size]
        z = stats.norm.ppf(np.cumsum(q) - q / 2)
        z = (z - q @ z) / np.sqrt(q @ (z - q @ z) ** 2)
        for k, c in enumerate(counts[:, d, :size]):
            numbers, n = np.repeat(z, c.astype(int)), c.sum()
            mean = numbers.mean() if n else 0.0
            rate = 1 + 0.5 * ((numbers - mean) ** 2).sum() + 0.5 * n / (1 + n) * mean**2
            scale = np.sqrt(rate * (n + 2) / ((1 + n / 2) * (n + 1)))
            found[k, d, :size] = stats.t(2 + n, n * mean / (1 + n), scale).logpdf(z) - stats.norm.logpdf(z)
    return found


def log_densities(X, y):
    """Student's t of each class and column, from the rows, [K, D, N], 0 for a missing cell."""
    found = np.zeros((K, D, N))
    for k, d in np.ndindex(K, D):
        x, pooled = X[(y == k) & ~np.isnan(X[:, d]), d], X[~np.isnan(X[:, d]), d]
        n, loc = len(x), (x.sum() + pooled.mean()) / (len(x) + 1)
        rate = pooled.var() + 0.5 * (((x - x.mean()) ** 2).sum() + n / (1 + n) * (x.mean() - pooled.mean()) ** 2)
        law = stats.t(2 + n, loc, np.sqrt(rate * (n + 2) / ((1 + n / 2) * (n + 1))))
        found[k, d] = np.nan_to_num(law.logpdf(X[:, d]))
    return found


def raised_terms(family, powers, x):
    return raise_terms(family, family.log_predictive_terms(x), powers, x)


def by_brute_force(post, cells, X, y, weights):
    """log p(k | x), [N, K], from the views' log ratios and powers [V, D]."""
    normal, weights = weights[:-2], weights[-2:]
    own = cells.model.families["x"]
    histogram = interpret(type(own).predictive_tables, own).finite.reshape(K, D, -1)
    logs = weights[0][None, :, None] * log_ratios_of_scores(post) + weights[1][None, :, None] * histogram
    codes = find_bins(X, np.asarray(post.model.families["x"].generative.edges)[0])
    terms = np.where(codes[None] < 0, 0.0, logs[:, np.arange(D)[None], np.maximum(codes, 0)])
    joint = np.log(post.model.class_mean())[None] + terms.sum(axis=2).T
    for powers in normal:
        joint = joint + np.einsum("kdn,d->nk", log_densities(X, y), powers)
    return log_softmax(joint, axis=1)


def test_predictions_are_products_of_the_views_ratios(model, views, cells, rows):
    X, y = rows
    post, of_cells = nb.fit_posterior(model, X, y), nb.fit_posterior(cells, X, y)
    shares = np.repeat(SHARES[views], D).reshape(-1, D)
    assert_allclose(post.powers["x"], shares.ravel())
    with jax.enable_x64(True):
        assert_allclose(post.predict_log_proba(X), by_brute_force(post, of_cells, X, y, shares), rtol=1e-9)
        powers = np.array([[0.7, 0.2, 0.5], [0.3, 0.0, 1.2], [0.1, 0.9, 0.4]])[-len(shares) :]
        tempered = replace(post, powers={"x": powers.ravel()})
        expected = by_brute_force(post, of_cells, X, y, powers)
        assert_allclose(tempered.predict_log_proba(X), expected, rtol=1e-9)
    whole = nb.temper(post, X, y)
    assert whole.powers["x"].shape == (1,)
    assert_allclose(
        whole.predict_log_proba(X),
        replace(post, powers={"x": whole.powers["x"] * shares.ravel()}).predict_log_proba(X),
        rtol=1e-9,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_each_view_equals_refits(model, views, rows, weighted):
    X, y = rows
    weight = np.linspace(0.5, 3.0, N) if weighted else None
    given = {} if weight is None else {"sample_weight": weight}
    prior = model.resolve(X, y, **given)
    post = nb.fit_posterior(prior, X, y, **given)
    table = left_out_log_ratios(post, fitted_rows(post, X, y, weight), by_feature=True)
    shares = SHARES[views]
    assert table.sizes == {"x": len(shares) * D}
    tempered = nb.temper(post, X, y, per_feature=True, **given)
    left = nb.leave_one_out(model, X, y, **given)
    joint = nb.leave_one_out(model, X, y, joint=True, **given)
    assert (tempered.powers["x"] != np.repeat(shares, D)).any()
    # the columns are independent, so that the views of each count about once together
    assert_allclose(tempered.powers["x"].reshape(-1, D).sum(axis=0), 1.0, atol=0.5)
    for n in (0, 4, 30):
        others = np.arange(N) != n
        whole = np.ones(N) if weight is None else weight
        gone = nb.fit_posterior(prior, X[others], y[others], sample_weight=whole[others])
        # a weight of w is w rows, of which one leaves where powers are learned
        refit = nb.fit_posterior(prior, X, y, sample_weight=np.where(others, whole, np.maximum(whole - 1.0, 0.0)))
        family, one = refit.model.families["x"], X[n : n + 1]
        own, rest = y[n], [k for k in range(K) if k != y[n]]
        for v, share in enumerate(shares):
            alone = np.repeat(np.eye(len(shares))[v], D)
            terms = interpret(raised_terms, family, alone, one)
            expected = share * (terms[0, rest] - terms[0, own])
            assert_allclose(table.ratios[n][:, v * D : (v + 1) * D], expected, rtol=1e-8, atol=1e-12)
        assert_allclose(left[n], gone.predict_log_proba(one)[0], rtol=1e-9)
        assert_allclose(joint[n], gone.log_joint(one)[0], rtol=1e-9)
        # the powers' own table: prior plus ratios times them is the refit's prediction
        odds = table.prior[n] + table.ratios[n] @ (tempered.powers["x"] / np.repeat(shares, D))
        found = replace(refit, powers=tempered.powers).predict_log_proba(one)[0]
        assert_allclose(odds, found[rest] - found[own], rtol=1e-8)


def test_views_of_a_histogram_alone_are_the_histogram(cells, rows):
    X, y = rows
    alone = nb.NaiveBayes(nb.Views(nb.Histogram(cells=8)))
    post, plain = nb.fit_posterior(alone, X, y), nb.fit_posterior(cells, X, y)
    assert_allclose(post.log_joint(X), plain.log_joint(X), rtol=1e-12)
    assert_allclose(nb.leave_one_out(alone, X, y), nb.leave_one_out(cells, X, y), rtol=1e-12)
    for how in (False, True):
        one, other = (nb.temper(fit, X, y, per_feature=how) for fit in (post, plain))
        assert_allclose(one.powers["x"], other.powers["x"], rtol=1e-12)
        assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-12)


def test_the_generative_model_is_the_histogram(model, cells, rows, key):
    X, y = rows
    post, plain = nb.fit_posterior(model, X, y), nb.fit_posterior(cells, X, y)
    assert_allclose(post.log_evidence, plain.log_evidence, rtol=1e-12)
    assert_allclose(post.log_density(X), plain.log_density(X), rtol=1e-9)
    assert_allclose(logsumexp(post.log_joint(X), axis=1), plain.log_density(X), rtol=1e-9)
    laws.equal(post.sample(key, 5), plain.sample(key, 5), rtol=0)
    laws.equal(nb.fit_map(model, X, y).params, nb.fit_map(cells, X, y).params, rtol=0)
    laws.equal(post.statistics.blocks["x"].bin_counts, plain.statistics.blocks["x"], rtol=0)
    assert_allclose(nb.feature_inclusion(model, X, y), nb.feature_inclusion(cells, X, y), rtol=1e-12)
    with pytest.raises(ValueError, match="block 'x' is Views, whose discrete sites gradients cannot move: use fit_p"):
        nb.fit_nuts(model, X, y, key=key)


@pytest.mark.slow
def test_explanations_add_the_views_up(model, rows, key):
    X, y = rows
    tempered = nb.temper(nb.fit_posterior(model, X, y), X, y, per_feature=True)
    found = nb.explain(tempered, X, key=key, num_draws=50)
    assert found.contributions.shape == (N, K, D)
    log_proba = tempered.predict_log_proba(X)
    assert_allclose(
        found.prior[None] + found.contributions.sum(axis=2), log_proba - log_proba[:, [0]], rtol=1e-8, atol=1e-9
    )
    low, high = found.intervals.contributions
    assert ((low <= found.contributions) & (found.contributions <= high)).mean() > 0.8
    low, high = tempered.predict_interval(X, key=key, num_draws=50)
    assert ((low <= np.exp(log_proba)) & (np.exp(log_proba) <= high)).mean() > 0.8
    assert {one.name for one in nb.top_features(tempered)["0"]} == {"x[0]", "x[1]", "x[2]"}


@pytest.mark.slow
def test_every_door(model, rows, tmp_path):
    X, y = rows
    post = nb.fit_posterior(model, X, y)
    tempered = nb.temper(post, X, y, per_feature=True)
    for name, fit in (("post", post), ("tempered", tempered), ("prior", post.prior)):
        nb.save(fit, tmp_path / name)
        again = nb.load(tmp_path / name)
        laws.equal(again, fit, rtol=0)
        assert repr(again) == repr(fit)
    with pytest.raises(nb.StorageError, match=r"must be one number, or one for each"):
        nb.save(replace(post, powers={"x": np.ones(D + 1)}), tmp_path / "wrong")
    assert_allclose(served(tempered.predict_proba, X)(X), tempered.predict_proba(X), rtol=1e-4, atol=1e-6)
    resolved = model.resolve(X, y)
    parts = [nb.sufficient_statistics(resolved, X[half], y[half]) for half in (slice(25), slice(25, N))]
    laws.equal(nb.fit_posterior(resolved, statistics=nb.merge(*parts)).model, post.model, rtol=1e-12)
    folds = np.arange(N) % 4
    table = nb.cross_validate(resolved, X, y, folds=folds)
    refit = nb.fit_posterior(resolved, X[folds != 1], y[folds != 1])
    assert_allclose(table[folds == 1], refit.predict_log_proba(X[folds == 1]), rtol=1e-9)
    assert "NormalScores(), Histogram(cells=8" in repr(post)


def test_weights_are_repeated_rows_and_the_order_is_free(model, views, rows):
    X, y = rows
    weight = np.arange(N) % 3
    one = nb.fit_posterior(model, X, y, sample_weight=weight)
    other = nb.fit_posterior(model, np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(one.predict_log_proba(X), other.predict_log_proba(X), rtol=1e-9)
    normal = [nb.Normal()] * (views == "three")
    turned = nb.NaiveBayes(nb.Views(nb.Histogram(cells=8), nb.NormalScores(), *normal))
    post, back = (nb.temper(nb.fit_posterior(m, X, y), X, y, per_feature=True) for m in (model, turned))
    assert_allclose(back.powers["x"].reshape(-1, D)[::-1], post.powers["x"].reshape(-1, D), rtol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_normal_and_the_other_views_learn_powers_apart_and_take_half(rows, weighted):
    """The prediction is the geometric mean of the two fits, each tempered by itself, other blocks included."""
    X, y = rows
    blocks = {"numbers": X, "flags": (np.nan_to_num(X[:, :1]) > 1.0) * 1.0}
    given = {"sample_weight": np.linspace(0.5, 3.0, N)} if weighted else {}
    normal, others = nb.Normal(strength=2.0), (nb.Histogram(cells=8), nb.NormalScores())
    fits = []
    for family in (nb.Views(normal, *others), normal, nb.Views(*others)):
        post = nb.fit_posterior(nb.NaiveBayes({"numbers": family, "flags": nb.Bernoulli()}), blocks, y, **given)
        fits.append(nb.temper(post, blocks, y, per_feature=True, **given))
    both, *alone = (fit.predict_log_proba(blocks) for fit in fits)
    assert_allclose(both, log_softmax(0.5 * (alone[0] + alone[1]), axis=1), rtol=1e-9, atol=1e-12)
    of_two = np.concatenate([fits[1].powers["numbers"], fits[2].powers["numbers"]])
    assert_allclose(fits[0].powers["numbers"], 0.5 * of_two, rtol=1e-9)


def test_columns_and_classes_without_rows(rng):
    X, y = np.c_[np.full(20, 2.0), rng.normal(size=20), np.full(20, np.nan)], np.arange(20) % 2
    model = nb.NaiveBayes(nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()), num_classes=3)
    post = nb.temper(nb.fit_posterior(model, X, y), X, y, per_feature=True)
    assert np.isfinite(post.log_joint(X)).all()
    alone = nb.fit_posterior(model, X[:, [1]], y).predict_log_proba(X[:, [1]])
    assert_allclose(nb.fit_posterior(model, X, y).predict_log_proba(X), alone, rtol=1e-9)
    assert np.isfinite(nb.leave_one_out(model, X[:3], np.array([0, 1, 2]))).all()


def test_it_has_no_linear_form(model, rows):
    with pytest.raises(ValueError, match="the exact predictive of block 'x', Views, is not affine in x"):
        nb.linear_form(nb.fit_posterior(model, *rows))


def test_bad_input():
    shared = nb.Normal(variance="shared")
    for views in (
        (),
        (nb.NormalScores(),),
        (nb.Poisson(), nb.Histogram()),
        (nb.Histogram(),) * 2,
        (shared, nb.Histogram()),
    ):
        with pytest.raises(ValueError, match="Views takes one Histogram, and beside it NormalScores of the same bins"):
            nb.Views(*views)
    alone = "NormalScores is one view of a column and no likelihood by itself: give nb.Views"
    with pytest.raises(ValueError, match=alone):
        nb.NaiveBayes(nb.NormalScores())
    for likelihoods in (nb.NormalScores(), [nb.NormalScores()], {"*": nb.NormalScores()}):
        with pytest.raises(ValueError, match=alone):
            nb.NaiveBayesClassifier(likelihoods).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'cells'"):
        nb.Views(nb.Histogram(), cells=8)
