"""Powers on the features' likelihoods, against the objective written from leave-one-out tables of single columns."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, logsumexp

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.learned.validation._ratio_table import part_of
from bayesnb.learned.validation._temper_in_jax import SCALES
from tests import cases

RNG = np.random.default_rng(5)
N, K = 40, 3
Y = np.arange(N) % K
BLOCKS = {
    "flags": nb.Bernoulli(),
    "codes": nb.Categorical((2, 4)),
    "reals": nb.Normal(),
    "words": nb.Multinomial(),
}
X = {
    "flags": np.where(RNG.random((N, 2)) < 0.1, np.nan, RNG.random((N, 2)) < 0.2 + 0.3 * Y[:, None]),
    "codes": np.c_[RNG.integers(0, 2, N), (Y + RNG.integers(0, 2, N)) % 4],
    "reals": RNG.normal(size=(N, 1)) + 1.5 * Y[:, None] + np.c_[np.zeros((N, 2)), RNG.normal(size=N)],
    "words": RNG.poisson(1.0 + (np.arange(5) == Y[:, None])).astype(float),
}
WEIGHT = RNG.integers(0, 3, N).astype(float)
MODEL = nb.NaiveBayes(BLOCKS)
ONE_IS_SLOW = [pytest.param(False, marks=pytest.mark.slow), True]
"""One power for all features is slow, a power a feature is not: each compiles for seconds."""


def columns():
    """Each feature by itself: family and rows."""
    for name, family in BLOCKS.items():
        if name == "words":
            yield family, X[name]
            continue
        for d in range(X[name].shape[1]):
            yield nb.Categorical((2, 4)[d]) if name == "codes" else family, X[name][:, [d]]


def table(weight):
    """prior [N, K] and evidence [N, K, F] of each row left out, of as many copies as it weighs, feature by feature."""
    flat, copies = np.full(K, 1 / K), np.repeat(np.arange(N), weight.astype(int))
    evidence = np.zeros((N, K, len([*columns()])))
    for f, (family, x) in enumerate(columns()):
        model = nb.NaiveBayes(family, class_probs=flat)
        evidence[copies, :, f] = nb.leave_one_out(model, x[copies], Y[copies], joint=True)
    counts = np.bincount(Y, weight, minlength=K)
    own = np.eye(K)[Y]
    prior = np.log((counts + 1.0 - own * (weight > 0)[:, None]) / (counts.sum() + K - 1.0))
    return prior, evidence


LENGTHS = X["words"].sum(axis=1)  # no word is in one row only


def raise_words(c, b, lengths=LENGTHS):
    return np.minimum(1.0, c * (1.0 + lengths) ** -b)


def with_words(prior, evidence, at):
    """The words and the class prior, raised to powers (log c, b, log a), as one prior of the other features."""
    c, b, a = np.exp(at[0]), at[1], np.exp(at[2])
    return a * prior + raise_words(c, b)[:, None] * evidence[:, :, -1], evidence[:, :, :-1]


def learn(weight, prior, evidence):
    """log T, log c, b and log a by scipy, first without the bound on words' powers, and the least objective."""

    def objective(at, most):
        raised = np.minimum(most, np.exp(at[1]) * (1.0 + LENGTHS) ** -at[2])
        scores = np.exp(at[3]) * prior + raised[:, None] * evidence[:, :, -1]
        off = np.array([at[0], at[1], (at[2] - 0.75) / 0.25, at[3]])
        return loss(weight, scores, evidence[:, :, :-1].sum(axis=2, keepdims=True), [np.exp(at[0])]) + 0.5 * off @ off

    at = np.array([0.0, 0.0, 0.75, 0.0])
    bounds, exact = [(-12, 0), (-12, 12), (0, 1), (-12, 12)], {"ftol": 1e-15, "gtol": 1e-9}
    for most in (np.inf, 1.0):
        at = minimize(objective, at, args=(most,), method="L-BFGS-B", bounds=bounds, options=exact).x
    return at


def words_of(fit):
    """log c, b and log a of a fit."""
    return np.array([np.log(fit.powers["words"][0]), fit.length_exponents["words"][0], np.log(fit.class_power)])


def loss(weight, prior, evidence, powers):
    joint = prior + evidence @ powers
    return -weight @ (joint[np.arange(N), Y] - logsumexp(joint, axis=1))


@pytest.fixture(scope="module", params=cases.by_default(["all", "weighted"], "weighted"))
def problem(request):
    weight = np.ones(N) if request.param == "all" else WEIGHT
    given = None if request.param == "all" else weight
    fit = nb.fit_posterior(MODEL, X, Y, sample_weight=given)
    return weight, table(weight), [nb.temper(fit, X, Y, per_feature=p, sample_weight=given) for p in (False, True)]


def test_one_temperature_and_the_powers_of_words_are_the_optimum(problem):
    weight, (prior, evidence), (fit, _) = problem
    best = learn(weight, prior, evidence)
    assert {name: w.shape for name, w in fit.powers.items()} == dict.fromkeys(BLOCKS, (1,))
    assert_allclose(np.concatenate(list(fit.powers.values())[:3]), np.exp(best[0]), rtol=1e-4)
    assert_allclose(words_of(fit), best[1:], atol=1e-4)


def test_of_many_rows_some_stand_for_all(monkeypatch):
    """Those that their cells choose, left out of the fit to all, with the weight of all rows of their class."""
    limit = {"LEARNED_RATIOS": 1, "ROWS_A_POWER": 1, "FEWEST_LEARNED": 25, "FEWEST_OF_CLASS": 3}
    for name, value in limit.items():
        monkeypatch.setattr(limits, name, value)
    fit, (prior, evidence) = nb.fit_posterior(MODEL, X, Y), table(np.ones(N))
    part = part_of(fit, label_rows(MODEL, X, Y), 3)
    chosen = (X["reals"][:, None] == part.arrays["reals"][None]).all(axis=2).any(axis=1)
    assert 25 <= chosen.sum() == part.num_rows < 30
    some = np.where(chosen, np.bincount(Y)[Y] / np.bincount(Y[chosen])[Y], 0.0)
    best = learn(some, prior, evidence)
    found = nb.temper(fit, X, Y)
    assert_allclose(found.powers["reals"], np.exp(best[0]), rtol=1e-4)
    assert_allclose(words_of(found), best[1:], atol=1e-4)


def laplace(weight, prior, evidence, temperature, scale):
    """The mode of delta and the log evidence of its scale, by another optimiser and a dense matrix."""
    size = evidence.shape[2]

    def objective(delta):
        return loss(weight, prior, evidence, temperature * (1 + delta)) + 0.5 * delta @ delta / scale**2

    best = minimize(objective, np.zeros(size), method="SLSQP", bounds=[(-1, None)] * size, options={"ftol": 1e-14})
    joint = prior + evidence @ (temperature * (1 + best.x))
    probs = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    hessian = np.eye(size) / scale**2
    for w, p, e in zip(weight, probs, evidence, strict=True):
        hessian += w * temperature**2 * e.T @ (np.diag(p) - np.outer(p, p)) @ e
    return -best.fun - 0.5 * np.linalg.slogdet(hessian)[1] - size * np.log(scale), best.x


def test_a_power_a_feature_is_the_optimum_at_the_best_scale(problem):
    weight, (prior, evidence), (one, many) = problem
    temperature = one.powers["flags"][0]
    prior, evidence = with_words(prior, evidence, words_of(many))
    assert_allclose(words_of(many), words_of(one), atol=1e-9)
    score, delta = max((laplace(weight, prior, evidence, temperature, s) for s in SCALES), key=lambda pair: pair[0])
    assert np.isfinite(score)
    assert [w.shape for w in many.powers.values()] == [(2,), (2,), (3,), (1,)]
    own = np.concatenate(list(many.powers.values())[:3])
    assert_allclose(own, temperature * (1 + delta), rtol=1e-3, atol=1e-4)
    assert (delta >= -1).all()


def test_rows_without_an_error_do_not_ask_for_more_confidence():
    """Four rows that leave-one-out predicts right under any power: the likelihood of T has its maximum beyond 1."""
    x, y = np.array([[-1.0], [-1.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), x, y)
    evidence = nb.leave_one_out(nb.NaiveBayes(nb.Normal(), class_probs=[0.5, 0.5]), x, y)
    prior = np.log(np.where(np.eye(2)[y] == 1, 2, 3) / 5)

    def objective(log_t):
        return -log_softmax(prior + np.exp(log_t) * evidence, axis=1)[np.arange(4), y].sum() + 0.5 * log_t**2

    assert minimize_scalar(objective, bounds=(-9.0, 4.0)).x > 0.1
    assert_allclose(nb.temper(fit, x, y).powers["x"], 1.0, atol=1e-6)


def test_predictions_are_weighted_sums(problem):
    weight, _, fits = problem
    fit = nb.fit_posterior(MODEL, X, Y, sample_weight=weight)
    flat = np.full(K, 1 / K)
    terms = np.stack(
        [
            nb.fit_posterior(nb.NaiveBayes(f, class_probs=flat), x, Y, sample_weight=weight).predict_log_proba(x)
            for f, x in columns()
        ],
        axis=2,
    )
    class_part = np.log((np.bincount(Y, weight) + 1.0) / (weight.sum() + K))
    for tempered in fits:
        powers = np.concatenate(
            [np.broadcast_to(w, n) for w, n in zip(tempered.powers.values(), (2, 2, 3, 1), strict=True)]
        )
        _, b, log_a = words_of(tempered)
        by_row = np.broadcast_to(powers, (N, len(powers))).copy()
        by_row[:, -1] = raise_words(powers[-1], b)
        joint = np.exp(log_a) * class_part + np.einsum("nkf,nf->nk", terms, by_row)
        assert_allclose(tempered.predict_log_proba(X), joint - logsumexp(joint, axis=1, keepdims=True), rtol=1e-9)
        # p(x) stays that of the model
        assert_allclose(tempered.log_density(X), fit.log_density(X), rtol=1e-12)
        assert_allclose(logsumexp(tempered.log_joint(X), axis=1), fit.log_density(X), rtol=1e-12)


def test_powers_stay_with_the_fit(problem):
    fit = problem[2][1]
    moved = fit.with_class_probs([0.2, 0.3, 0.5])
    assert moved.powers is fit.powers
    assert "powers={'flags': array[2]" in repr(fit)
    rows = {name: jnp.asarray(x) for name, x in X.items()}
    inside = jax.jit(lambda fit, rows: fit.predict_proba(rows))(fit, rows)
    assert_allclose(inside, fit.predict_proba(X), rtol=2e-4, atol=1e-6)
    assert float(fit.log_evidence) == float(nb.fit_posterior(MODEL, statistics=fit.statistics).log_evidence)


def test_weights_are_another_name_of_powers(problem):
    fit, other = problem[2][1], {name: np.ones_like(power) for name, power in problem[2][1].powers.items()}
    assert fit.weights is fit.powers
    assert replace(fit, weights=other).powers is other
    assert replace(fit, weights=None).powers is None
    with pytest.raises(TypeError, match="takes prior, model, statistics and powers, got 'weight'"):
        nb.Posterior(fit.prior, fit.model, fit.statistics, weight=other)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["weighted"], indirect=True)
@pytest.mark.parametrize("per_feature", [False, True])
def test_inside_jax_the_powers_are_those_of_the_host(problem, per_feature):
    weight, _, fits = problem
    model, w = nb.NaiveBayes(BLOCKS, num_classes=K), jnp.asarray(weight)

    @jax.jit
    def powers(X, y, w):
        post = nb.fit_posterior(model, X, y, sample_weight=w)
        return nb.temper(post, X, y, per_feature=per_feature, sample_weight=w).all_powers

    found = powers({name: jnp.asarray(x) for name, x in X.items()}, jnp.asarray(Y), w)
    for name, expected in fits[per_feature].powers.items():
        assert_allclose(found.features[name], expected, atol=1e-4)
    assert_allclose(found.lengths["words"], fits[per_feature].length_exponents["words"], atol=1e-4)
    assert_allclose(found.of_class, fits[per_feature].class_power, rtol=1e-3)  # flat: the classes are equally frequent


VIEWS = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())


@pytest.mark.parametrize("family", [pytest.param(VIEWS, marks=pytest.mark.slow), nb.MultivariateNormal()])
def test_a_fit_of_the_host_is_tempered_inside_jax(rng, family):
    y = np.arange(150) % K
    x = rng.normal(size=(150, 2)) + 0.5 * y[:, None]
    fit = nb.fit_posterior(nb.NaiveBayes(family), x, y)
    found = jax.jit(lambda x, y: nb.temper(fit, x, y, per_feature=True).powers["x"])(jnp.asarray(x), jnp.asarray(y))
    assert_allclose(found, nb.temper(fit, x, y, per_feature=True).powers["x"], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("per_feature", ONE_IS_SLOW)
def test_many_small_fits_are_tempered_at_once(rng, per_feature):
    y = rng.integers(0, 2, (30, 60))
    X = rng.normal(size=(30, 60, 3)) + 0.7 * y[..., None]
    X[..., 1] = X[..., 0] + 0.1 * rng.normal(size=y.shape)
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    fits = jax.vmap(lambda X, y: nb.fit_posterior(model, X, y))(jnp.asarray(X), jnp.asarray(y))
    tempered = jax.jit(jax.vmap(lambda fit, X, y: nb.temper(fit, X, y, per_feature=per_feature)))
    found = tempered(fits, jnp.asarray(X), jnp.asarray(y)).powers["x"]
    host = [nb.temper(nb.fit_posterior(model, x, k), x, k, per_feature=per_feature) for x, k in zip(X, y, strict=True)]
    assert_allclose(found, [fit.powers["x"] for fit in host], atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("per_feature", ONE_IS_SLOW)
def test_powers_have_derivatives(rng, per_feature):
    """With respect to a hyperparameter, against differences of the host's powers."""
    y = np.arange(80) % 2
    x = rng.normal(size=(80, 2)) + y[:, None]

    def power(rate, array):
        model = nb.NaiveBayes(nb.Normal(0.0, 1.0, 1.0, rate), num_classes=2)
        X, labels = array(np.c_[x, x[:, 0]]), array(y)
        return nb.temper(nb.fit_posterior(model, X, labels), X, labels, per_feature=per_feature).powers["x"].sum()

    step = 1e-2
    difference = (power(1.0 + step, np.asarray) - power(1.0 - step, np.asarray)) / (2 * step)
    assert_allclose(jax.jit(jax.grad(lambda rate: power(rate, jnp.asarray)))(1.0), difference, rtol=2e-2)


@pytest.mark.slow
def test_powers_by_hand():
    fit = nb.fit_posterior(MODEL, X, Y)
    sizes = {name: 1 if name == "words" else x.shape[1] for name, x in X.items()}
    assert fit.with_powers(0.5).powers == dict.fromkeys(sizes, np.array([0.5]))
    assert fit.with_powers(dict.fromkeys(sizes, 0.5)).powers == fit.with_powers(0.5).powers
    flat = np.arange(sum(sizes.values())) / 10.0
    many = fit.with_powers(flat)
    assert {name: len(power) for name, power in many.powers.items()} == sizes
    assert_allclose(np.concatenate([*many.powers.values()]), flat)
    assert_allclose(many.predict_log_proba(X), fit.with_powers(many.powers).predict_log_proba(X))
    assert_allclose(fit.with_powers(1).predict_log_proba(X), fit.predict_log_proba(X), atol=1e-12)
    rows = {name: jnp.asarray(x) for name, x in X.items()}
    slope = jax.grad(lambda power: fit.with_powers(power).predict_log_proba(rows).sum())(0.5)
    assert np.isfinite(slope)
    assert abs(slope) > 0


@pytest.mark.parametrize(
    ("powers", "words"),
    [
        ([1.0, 2.0], r"one for each of 8 features, got shape \(2,\)"),
        ({"flags": [1.0]}, r"must have the blocks .*, got \['flags'\]"),
        (-1.0, r"finite and not negative, got \[-1.0\]"),
        (np.nan, "finite and not negative"),
        ("half", "got <U4"),
        ({name: [1.0, 2.0, 3.0, 4.0] for name in BLOCKS}, r"must be one number, or one for each of 2 features"),
    ],
)
def test_other_powers_are_refused(powers, words):
    with pytest.raises(ValueError, match=words):
        nb.fit_posterior(MODEL, X, Y).with_powers(powers)


def test_copies_of_a_column_count_as_one(rng):
    y = np.arange(400) % 2
    x = rng.normal(size=(400, 1)) + 1.5 * y[:, None]
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), x, y)
    copied = np.tile(x, (1, 10))
    naive = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), copied, y)
    tempered = nb.temper(naive, copied, y)
    assert_allclose(tempered.powers["x"], 0.1, rtol=0.2)
    assert np.abs(naive.predict_proba(copied) - alone.predict_proba(x)).max() > 0.3
    assert np.abs(tempered.predict_proba(copied) - alone.predict_proba(x)).max() < 0.05


def test_what_is_refused():
    case = cases.make("normal")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    with pytest.raises(ValueError, match="must be the rows that the posterior was fitted to"):
        nb.temper(fit, case.X[:-1], case.y[:-1])
    with pytest.raises(ValueError, match="must be the rows"):
        nb.temper(fit, case.X, case.y, sample_weight=np.full(len(case.y), 2.0))
    with pytest.raises(ValueError, match="must be the rows"):
        nb.temper(fit, case.X, (case.y + 1) % 3)
    with pytest.raises(ValueError, match="integer labels"):
        nb.temper(fit, case.X, np.eye(3)[case.y])
    with pytest.raises(ValueError, match="take the form of the posterior before temper"):
        nb.linear_form(nb.temper(fit, case.X, case.y))
    with pytest.raises(ValueError, match="takes a Posterior"):
        nb.temper(nb.fit_map(case.model, case.X, case.y), case.X, case.y)
    forest = nb.fit_forests(case.model, case.X, case.y)
    with pytest.raises(ValueError, match="temper of forests cannot run inside a JAX transformation"):
        jax.jit(lambda x: nb.temper(forest, x, case.y).predict_proba(x))(jnp.asarray(case.X))


def bursts(rng, num_rows, concentration, lengths):
    """Rows of two classes, not far apart, whose own word probabilities are Dirichlet(concentration theta_k)."""
    theta = rng.dirichlet(np.full(60, 15.0), 2)
    y = np.arange(num_rows) % 2
    own = np.stack([rng.dirichlet(concentration * theta[k]) for k in y])
    return np.stack([rng.multinomial(n, p) for n, p in zip(rng.choice(lengths, num_rows), own, strict=True)]), y


@pytest.mark.slow
def test_the_powers_of_bursts_are_those_of_the_effective_number_of_words(rng):
    s = 20.0
    rows, y = bursts(rng, 3000, s, [5, 10, 20, 40, 80, 160])
    fit = nb.temper(nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, y), rows, y)
    lengths = np.array([10.0, 40.0, 160.0])
    found = raise_words(fit.powers["x"][0], fit.length_exponents["x"], lengths)
    assert_allclose(found, 1.0 / (1.0 + (lengths - 1.0) / (1.0 + s)), rtol=0.3)
    assert 0.5 < fit.length_exponents["x"][0] <= 1.0
    independent, y = bursts(rng, 3000, 1e6, [5, 10, 20, 40, 80, 160])
    fit = nb.temper(nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), independent, y), independent, y)
    assert (raise_words(fit.powers["x"][0], fit.length_exponents["x"], lengths) > 0.8).all()


def test_few_long_rows_that_are_all_right_do_not_count_in_full(rng):
    rows, y = bursts(rng, 12, 20.0, [200])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, y)
    tempered = nb.temper(fit, rows, y)
    assert raise_words(tempered.powers["x"][0], tempered.length_exponents["x"], 200) < 0.25


@pytest.mark.slow
def test_the_powers_of_words_have_derivatives_and_many_are_learned_at_once(rng):
    rows, y = bursts(rng, 60, 20.0, [5, 20, 60])

    def powers(concentration, array):
        model = nb.NaiveBayes(nb.Multinomial(concentration), num_classes=2)
        X, labels = array(rows.astype(float)), array(y)
        found = nb.temper(nb.fit_posterior(model, X, labels), X, labels).all_powers
        return found.features["x"][0] + found.lengths["x"][0] + found.of_class

    step = 1e-2
    difference = (powers(1.0 + step, np.asarray) - powers(1.0 - step, np.asarray)) / (2 * step)
    assert_allclose(jax.grad(lambda a: powers(a, jnp.asarray))(1.0), difference, rtol=2e-2)
    both = jax.jit(jax.vmap(lambda a: powers(a, jnp.asarray)))(jnp.array([0.5, 1.0]))
    assert_allclose(both, [powers(a, np.asarray) for a in (0.5, 1.0)], atol=1e-3)
