"""EM against the closed forms, brute-force maximisation, autodiff, and itself on repeated rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpyro.distributions import constraints
from scipy import optimize, stats
from scipy.special import expit, logsumexp

import bayesnb as nb
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.core.fits._em import EMEstimate, fit_em
from tests import cases, laws

FITS = [nb.fit_map, nb.fit_mle]


def half_labelled(name):
    """The case with every second row unlabelled, and a prior whose density is bounded on every edge."""
    case = cases.make(name)
    y = np.where(np.arange(len(case.y)) % 4 < 2, case.y, -1)
    return jax.tree.map(lambda leaf: leaf + 0.5 * (np.asarray(leaf) != 0), case.model), case.X, y


def objective(model, params, X, y, prior):
    """log p(labelled rows) + log p(unlabelled rows) [+ log p(params)], from predictions and NumPyro's densities."""
    estimate = nb.PointEstimate.trust(model, params)
    own = jnp.take_along_axis(estimate.log_joint(X), jnp.maximum(y, 0)[:, None], axis=1)[:, 0]
    total = jnp.where(y >= 0, own, estimate.log_density(X)).sum()
    return total + laws.prior_density(model, params) if prior else total


def on_device(X):
    return jax.tree.map(jnp.asarray, X)


# every family compiles anew: two tell of an error at once, the others in the longer run
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    "name", [n if n in ("poisson", "normal") else pytest.param(n, marks=pytest.mark.slow) for n in cases.NAMES]
)
def test_the_objective_never_falls(name, fit):
    model, X, y = half_labelled(name)
    if name == "histogram" and fit is nb.fit_map:
        with pytest.raises(ValueError, match=r"which EM cannot climb to: give fit=nb\.fit_mle"):
            fit_em(model, X, y, fit=fit)
        return
    found = fit_em(model, X, y, fit=fit)
    trace = found.log_posterior
    assert found.converged
    assert trace.shape == (found.num_iterations + 1,)
    assert np.isfinite(trace).all()
    assert (np.diff(trace) > -1e-9 * np.abs(trace[1:]) - 1e-6).all()
    assert trace[-1] > trace[0]
    # the prior knows every row, and no label
    for leaf, blind in zip(jax.tree.leaves(found.model), jax.tree.leaves(model.resolve(X)), strict=True):
        assert_allclose(leaf, blind, rtol=1e-9)
    with jax.enable_x64(True):
        last = jax.jit(objective, static_argnums=4)(found.model, found.params, on_device(X), y, fit is nb.fit_map)
    assert_allclose(trace[-1], last, rtol=1e-9)


@pytest.mark.parametrize("name", ["normal", pytest.param("mixed", marks=pytest.mark.slow)])
def test_the_end_is_stationary(name):
    """The gradient of the objective vanishes, along the simplex for probabilities and in units of the others."""
    model, X, y = half_labelled(name)
    found = fit_em(model, X, y, tolerance=1e-18)
    with jax.enable_x64(True):
        supports, spreads = laws.site_supports(found.model, found.params), laws.spreads(found.model, found.params)

    def moved(site, value, step):
        support = supports[site]
        if support == constraints.simplex:
            return jax.nn.softmax(jnp.log(value) + step, axis=-1)
        if support == constraints.unit_interval:
            return jax.nn.sigmoid(jnp.log(value) - jnp.log1p(-value) + step)
        if support in laws.REAL:
            return value + step * spreads[site]
        if support == constraints.positive_definite:
            return value * jnp.exp(step + jnp.swapaxes(step, -1, -2))
        return value * jnp.exp(step)

    def at(steps):
        params = {site: moved(site, np.asarray(value), steps[site]) for site, value in found.params.items()}
        return objective(found.model, params, on_device(X), y, prior=True)

    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        slope = jax.jit(jax.grad(at))({site: jnp.zeros(value.shape) for site, value in found.params.items()})
    for site, value in slope.items():
        assert_allclose(value, 0.0, atol=1e-6, err_msg=site)


def test_a_small_example_by_brute_force():
    """Two coins and two classes under Beta(2, 3) and Dirichlet(2): the best of many ascents on the log odds."""
    X = np.array([[1, 1], [1, 0], [0, 0], [0, 1], [1, 1], [1, 1], [0, 0], [0, 0]])
    y = np.array([0, 0, 1, 1, -1, -1, -1, -1])
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.3, 0.6, 0.3, 0.3])

    def minus(logits):
        probs, theta = expit(logits[0]), expit(logits[1:].reshape(2, 2))
        joint = np.log([probs, 1 - probs]) + X @ np.log(theta).T + (1 - X) @ np.log1p(-theta).T
        rows = np.where(y >= 0, joint[np.arange(8), y], logsumexp(joint, axis=1))
        return -(weight @ rows + stats.beta(2, 3).logpdf(theta).sum() + stats.beta(2, 2).logpdf(probs))

    starts = np.random.default_rng(0).normal(size=(4, 5))
    best = min((optimize.minimize(minus, start, tol=1e-10) for start in starts), key=lambda r: r.fun)
    model = nb.NaiveBayes(nb.Bernoulli(2.0, 3.0), class_concentration=2.0)
    # what an unlabelled row counts: its weight times lambda
    share = np.where(y < 0, weight / 0.6, 1.0)
    found = fit_em(model, X, y, sample_weight=share, unlabelled_weight=0.6, tolerance=1e-18)
    assert_allclose(found.log_posterior[-1], -best.fun, rtol=1e-9)
    assert_allclose(found.params["class_probs"], [expit(best.x[0]), expit(-best.x[0])], atol=1e-5)
    assert_allclose(found.params["x_probs"], expit(best.x[1:].reshape(2, 2)), atol=1e-5)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("name", ["poisson", "normal"])
def test_with_every_row_labelled_it_is_the_closed_form(name, fit):
    case = cases.make(name)
    found, closed = fit_em(case.model, case.X, case.y, fit=fit), fit(case.model, case.X, case.y)
    for site, value in closed.params.items():
        assert_array_equal(found.params[site], value)
    assert found.num_iterations == 1
    assert found.log_posterior[0] == found.log_posterior[1]


def test_rows_that_count_nothing():
    """lambda = 0, or a weight of 0, is as if the rows were not there; the pooled prior too."""
    case = cases.make("normal")
    y = np.where(np.arange(24) < 15, case.y, -1)
    closed = nb.fit_map(case.model, case.rows(slice(15)), y[:15])
    for found in (
        fit_em(case.model, case.X, y, unlabelled_weight=0.0),
        fit_em(case.model, case.X, np.where(y < 0, -9, y), sample_weight=(y >= 0).astype(float)),
    ):
        for site, value in closed.params.items():
            assert_array_equal(found.params[site], value)


def test_weights_are_repeated_rows_in_any_order():
    model, X, y = half_labelled("normal")
    repeats = np.random.default_rng(0).integers(0, 3, len(y))
    many = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), repeats))
    one = fit_em(model, X, y, sample_weight=repeats)
    other = fit_em(model, X[many], y[many])
    assert_allclose(one.log_posterior, other.log_posterior, rtol=1e-9)
    for site, value in one.params.items():
        assert_allclose(other.params[site], value, rtol=1e-6, err_msg=site)


def test_a_class_that_no_label_shows():
    """Two of three clusters have labels; what is unlike both is the third."""
    rng = np.random.default_rng(0)
    label = np.arange(90) % 3
    X = rng.normal(label[:, None] * 8.0, 1.0, (90, 2))
    y = np.where((label < 2) & (np.arange(90) < 30), label, -1)
    found = fit_em(nb.NaiveBayes(nb.Normal(), num_classes=3), X, y)
    assert_array_equal(found.predict(X), label)
    with pytest.raises(ValueError, match=r"expected integers 0..1|num_classes"):
        fit_em(nb.NaiveBayes(nb.Normal(), num_classes=2), X, np.where(y < 0, -1, y + 1))


@pytest.mark.slow
def test_without_labels_it_is_a_mixture(key):
    """The clusters are found, their numbers are not."""
    label = np.arange(90) % 3
    X = np.random.default_rng(0).normal(label[:, None] * 8.0, 1.0, (90, 2))
    model, y = nb.NaiveBayes(nb.Normal(), num_classes=3), np.full(90, -1)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2\] .* give key="):
        fit_em(model, X, y)
    with pytest.warns(UserWarning, match="the model is a mixture, whose class numbers are arbitrary"):
        found = fit_em(model, X, y, key=key)
    table = np.zeros((3, 3), int)
    np.add.at(table, (label, found.predict(X)), 1)
    assert sorted(table.max(axis=1)) == [30, 30, 30]
    with pytest.raises(ValueError, match="num_classes"):
        fit_em(nb.NaiveBayes(nb.Normal()), X, y, key=key)


def test_iterations_compute_no_base_measure(monkeypatch):
    """No M-step needs log x! of the unlabelled rows."""
    calls, log_factorial = [], log_factorials.log_factorial
    monkeypatch.setattr(log_factorials, "log_factorial", lambda x: calls.append(len(x)) or log_factorial(x))
    found = fit_em(*half_labelled("poisson"))
    assert found.num_iterations > 2
    assert len(calls) == 1  # of the labelled rows


def test_a_start_of_one_s_own():
    """EM keeps to the maximum near its start: two names exchanged are exchanged in the end."""
    model, X, y = half_labelled("normal")
    nameless = np.full(len(y), -1)
    one = fit_em(model, X, y)
    swapped = {site: value[[1, 0, 2]] for site, value in one.params.items()}
    with pytest.warns(UserWarning, match="mixture"):
        a, b = (fit_em(one.model, X, nameless, initial=nb.PointEstimate(one.model, p)) for p in (one.params, swapped))
    assert_allclose(a.predict_proba(X), b.predict_proba(X)[:, [1, 0, 2]], atol=1e-9)
    assert a.num_iterations == b.num_iterations


def test_an_edge_where_the_prior_is_unbounded():
    """Under Beta(.5, .5) the density of a probability of 0 is infinite; the fit is the one of fit_map all the same."""
    case = cases.make("bernoulli")
    X, y = np.nan_to_num(np.asarray(case.X)), np.where(np.arange(24) < 12, case.y, -1)
    X[:, 0] = case.y == 2
    found = fit_em(nb.NaiveBayes(nb.Bernoulli(0.5, 0.5)), X, y)
    assert found.converged
    assert_array_equal(found.log_posterior, np.inf)
    assert_array_equal(found.params["x_probs"][:2, 0], 0.0)
    assert np.isfinite(found.predict_proba(X)).all()


def test_a_row_that_the_start_holds_to_be_impossible():
    model, X = nb.NaiveBayes(nb.Categorical(3)), np.array([[0], [1], [2], [2]])
    start = nb.PointEstimate(
        model.resolve(X, np.arange(4) % 2), {"class_probs": [0.5, 0.5], "x_probs": [[[1, 0, 0]], [[0, 1, 0]]]}
    )
    found = fit_em(start.model, X, np.array([0, 1, -1, -1]), initial=start)
    assert found.log_posterior[0] == -np.inf
    # every row has probability a half in its class, and the prior density 2 for each class
    assert_allclose(found.log_posterior[-1], 2 * np.log(0.25) + 2 * np.log(0.5) + 2 * np.log(2.0), rtol=1e-9)


@pytest.mark.slow
def test_a_step_that_would_fall_is_not_taken():
    """The MLE with a smoothed covariance maximises nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    X[10:] += rng.normal(size=2)
    y = np.full(20, -1)
    y[:3], y[15:18] = 0, 1
    with pytest.warns(UserWarning, match="EM stopped after .* because the objective would fall"):
        found = fit_em(nb.NaiveBayes(nb.MultivariateNormal(smoothing=1.0)), X, y, fit=nb.fit_mle)
    assert not found.converged
    assert len(found.log_posterior) == 1


def test_an_end_before_convergence_is_said():
    model, X, y = half_labelled("normal")
    with pytest.warns(UserWarning, match="did not converge in 2 iterations: increase max_iterations"):
        found = fit_em(model, X, y, max_iterations=2)
    assert (found.converged, found.num_iterations, len(found.log_posterior)) == (False, 2, 3)
    assert "converged=False, num_iterations=2" in repr(found)


def test_the_estimate_predicts_like_any_other():
    model, X, y = half_labelled("normal")
    found = fit_em(model, X, y)
    same = nb.PointEstimate(found.model, found.params)
    assert isinstance(found, EMEstimate)
    assert_array_equal(found.predict_proba(X), same.predict_proba(X))
    assert_allclose(
        jax.jit(lambda fit, x: fit.predict_proba(x))(found, jnp.asarray(X)), same.predict_proba(X), atol=1e-3
    )
    other = found.with_class_probs([0.2, 0.3, 0.5])
    assert_array_equal(other.predict_proba(X), same.with_class_probs([0.2, 0.3, 0.5]).predict_proba(X))
    assert_array_equal(other.log_posterior, found.log_posterior)
    device = fit_em(model, jnp.asarray(X), jnp.asarray(y))
    assert_allclose(device.predict_proba(X), found.predict_proba(X), atol=2e-3)


GOOD = np.zeros((4, 1)), np.array([0, 1, -1, -1])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"y": [0, 1, -2, -1]}, "y holds -2, expected integers 0..K-1, or -1 for an unlabelled row"),
        ({"y": [0, 5, -1, -1], "model": nb.NaiveBayes(nb.Normal(), num_classes=2)}, "y holds 5, expected integers"),
        ({"y": np.full((4, 2), 0.5)}, "soft labels are for the closed-form fits"),
        ({"y": [0.0, 1.0, np.nan, -1.0]}, "got dtype float64"),
        ({"y": None}, "y is missing"),
        ({"y": [0, 1, -1]}, r"got shape \(3,\)"),
        ({"y": ["a", "b", "", ""]}, "y holds strings"),
        ({"unlabelled_weight": 1.5}, "unlabelled_weight must be a number from 0 to 1, got 1.5"),
        ({"unlabelled_weight": np.nan}, "unlabelled_weight must be a number from 0 to 1, got nan"),
        ({"unlabelled_weight": "1"}, "unlabelled_weight must be a number from 0 to 1"),
        ({"tolerance": -1e-3}, "tolerance must be a number from 0"),
        ({"max_iterations": 0}, "max_iterations must be a positive int"),
        ({"sample_weight": [1, 1, 1, -1]}, "sample_weight must be finite, not negative"),
        ({"fit": nb.fit_posterior}, "fit must be fit_map or fit_mle, got 'fit_posterior'"),
        ({"key": 0}, "key must be a single JAX random key"),
        ({"initial": {"class_probs": [1.0]}}, "initial must be a PointEstimate"),
        ({"X": np.full((4, 1), np.inf)}, "a Normal cell is a finite number"),
        ({"model": nb.Normal()}, "first argument must be a model"),
    ],
)
def test_what_it_does_not_take(given, sentence):
    arguments = {"model": nb.NaiveBayes(nb.Normal()), "X": GOOD[0], "y": GOOD[1], **given}
    with pytest.raises(ValueError, match=sentence):
        fit_em(arguments.pop("model"), arguments.pop("X"), arguments.pop("y"), **arguments)


def test_rows_partly_missing_under_a_full_covariance():
    X = np.random.default_rng(0).normal(size=(8, 2))
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="no closed form from rows with some cells missing"):
        fit_em(nb.NaiveBayes(nb.MultivariateNormal()), X, [0, 1, 0, 1, 0, 1, -1, -1])


def test_other_fits_take_no_unlabelled_rows():
    with pytest.raises(ValueError, match="unlabelled rows, y = -1, are supported by fit_em and fit_nuts"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), *GOOD)


def test_it_needs_known_values():
    with pytest.raises(ValueError, match="fit_em cannot run inside a JAX transformation"):
        jax.jit(lambda x: fit_em(nb.NaiveBayes(nb.Normal()), x, GOOD[1]).params)(GOOD[0])
