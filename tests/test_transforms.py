"""Fits and predictions inside jit, vmap and grad; results and models as pytrees."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
from tests.served import served
from tests.tables.files.fits import FITS

KINDS = [nb.fit_mle, pytest.param(nb.fit_map, marks=pytest.mark.slow), nb.fit_posterior]
"""Of two fits of one type, the MLE and the MAP, one is quick."""


@pytest.fixture(scope="module")
def case():
    """Blocks of four structures; a matrix and counts of words would make every function twice as long to compile."""
    return cases.mix(["bernoulli", "ragged", "normal", "trials"])


@pytest.mark.parametrize("fit", KINDS)
def test_a_fit_is_a_pytree(case, fit):
    result = fit(case.model, case.X, case.y)
    leaves, structure = jax.tree.flatten(result)
    again = jax.tree.unflatten(structure, leaves)
    assert all(isinstance(leaf, np.ndarray) for leaf in leaves)
    assert list(again.model.families) == list(case.model.families)
    assert_allclose(again.predict_proba(case.X), result.predict_proba(case.X))


@pytest.mark.parametrize("fit", [pytest.param(nb.fit_mle, marks=pytest.mark.slow), nb.fit_posterior])
def test_prediction_inside_jit(case, fit):
    result = fit(case.model, case.X, case.y)
    expected = result.predict_proba(case.X)
    as_argument = jax.jit(lambda f, X: f.predict_proba(X))(result, case.X)
    closed_over = jax.jit(result.predict_proba)(case.X)
    assert_allclose(as_argument, expected, atol=2e-4)
    assert_allclose(closed_over, expected, atol=2e-4)


def test_what_is_known_inside_jit_is_computed_at_once(case):
    """A fit from numpy arrays inside somebody's jit is a constant there."""

    @jax.jit
    def predict(x):
        fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), cases.make("informed").X, case.y)
        assert isinstance(fit.model.families["x"].loc, np.ndarray)
        return fit.predict_proba(x), fit.predict_proba(cases.make("informed").X)

    traced, known = predict(jnp.asarray(cases.make("informed").X))
    assert_allclose(traced, known, atol=1e-5)


@pytest.mark.parametrize("name", cases.by_default(["normal", "ragged", "trials"]))
def test_known_jax_rows_inside_jit(name):
    """Rows that a jitted function closes over, while weights are traced: fitted, predicted, and still checked."""
    case = cases.make(name)
    X, y = jax.tree.map(jnp.asarray, (case.X, case.y))
    fit = jax.jit(lambda w: nb.fit_posterior(case.model, X, y, sample_weight=w).log_joint(X))
    model = case.model.resolve(case.X, case.y)
    assert_allclose(
        fit(jnp.ones(len(y))), nb.fit_posterior(model, case.X, case.y).log_joint(case.X), rtol=2e-4, atol=2e-4
    )
    wrong = y.at[0].set(7)
    with pytest.raises(ValueError, match="y holds 7"):
        jax.jit(lambda w: nb.fit_mle(model, X, wrong, sample_weight=w).params)(jnp.ones(len(y)))
    params = jax.tree.map(jnp.asarray, nb.fit_map(model, case.X, case.y).params)
    point = jax.jit(lambda x: nb.PointEstimate(model, params).log_joint(x))(X)
    assert not jnp.isnan(point).any()


@pytest.mark.slow
def test_the_evidence_is_differentiable_in_hyperparameters(case):
    x, y = case.X["bernoulli"], case.y

    def evidence(a):
        return nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=a), num_classes=3), x, y).log_evidence

    step = 1e-2
    slope = (evidence(1.5 + step) - evidence(1.5 - step)) / (2 * step)
    assert_allclose(jax.jit(jax.grad(evidence))(1.5), slope, rtol=2e-3)


@pytest.mark.parametrize("name", cases.by_default(["normal", "informed"], "normal"))
@pytest.mark.parametrize("fit", KINDS)
def test_predictions_are_differentiable_in_the_rows(name, fit):
    """Also where a cell is missing: its gradient is zero, not NaN."""
    case = cases.make(name)
    result = fit(case.model, case.X, case.y)
    gradient = jax.jit(jax.grad(lambda X: result.predict_log_proba(X)[:, 0].sum()))(jnp.asarray(case.X))
    assert np.isfinite(gradient).all()
    assert (np.asarray(gradient)[np.isnan(case.X)] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.by_default(["covariance", "discriminant", "shared"], "covariance"))
@pytest.mark.parametrize("fit", KINDS)
def test_gradients_of_rows_with_some_cells_missing(name, fit):
    """Those of central differences in the observed cells, 0 in the others."""
    case = cases.make(name)
    result = fit(case.model, case.X, case.y)
    unit = np.nanstd(case.X, axis=0)
    rows = np.nan_to_num(case.X[:8], nan=1.0)
    rows[np.arange(8), np.arange(8) % 3] = np.nan
    rows[7] = np.nan

    def odds(rows):
        return result.predict_log_proba(rows)[:, 0]

    gradient = jax.grad(lambda rows: odds(rows).sum())(jnp.asarray(rows))
    for d in range(3):
        step = 1e-4 * unit[d] * (np.arange(3) == d)
        slope = np.where(np.isnan(rows[:, d]), 0.0, (odds(rows + step) - odds(rows - step)) / 2e-4)
        assert_allclose(gradient[:, d] * unit[d], slope, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("name", cases.by_default(["covariance", "shared", "poisson", "binomial"], "covariance"))
def test_predictions_map_over_rows(name):
    """One row at a time under vmap is all at once."""
    case = cases.make(name)
    result = nb.fit_posterior(case.model, case.X, case.y)
    rows = case.X[:6]
    one_by_one = jax.jit(jax.vmap(lambda row: result.predict_log_proba(row[None])[0]))(jnp.asarray(rows))
    assert_allclose(one_by_one, result.predict_log_proba(rows), rtol=1e-3, atol=1e-3)


HYPERPARAMETERS = {
    "normal": {"loc": 0.4, "strength": 0.7, "shape": 1.5, "rate": 2.0},
    "shared": {"loc": 0.4, "strength": 0.7, "shape": 1.5, "rate": 2.0},
    "full": {"loc": 0.4, "strength": 0.7, "df": 3.5, "scale": 2.0},
    "plane": {"loc": 0.4, "strength": 0.7, "df": 3.5, "scale": 2.0},
    "poisson": {"shape": 1.5, "rate": 0.7},
    "binomial": {"a": 1.5, "b": 0.7},
}
MAKE = {
    "normal": nb.Normal,
    "shared": lambda **prior: nb.Normal(variance="shared", **prior),
    "full": lambda scale, **prior: nb.MultivariateNormal(scale=scale * (jnp.eye(3) + 0.3), **prior),
    "plane": lambda scale, **prior: nb.MultivariateNormal("shared", scale=scale * (jnp.eye(3) + 0.3), **prior),
    "poisson": nb.Poisson,
    "binomial": lambda **prior: nb.Binomial(9, **prior),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.by_default(MAKE, "normal", "plane"))
def test_the_evidence_is_differentiable_in_every_hyperparameter(name, rng):
    """As by central differences, in float64."""
    y = np.arange(12) % 3
    counts = rng.poisson(2.0, (12, 3)).clip(0, 9)
    x = counts if name in ("poisson", "binomial") else rng.normal(y[:, None], 1.0, (12, 3))

    def evidence(prior):
        return nb.fit_posterior(nb.NaiveBayes(MAKE[name](**prior), num_classes=3), x, y).log_evidence

    with jax.enable_x64(True):
        prior = HYPERPARAMETERS[name]
        gradient = jax.jit(jax.grad(evidence))(prior)
        value = jax.jit(evidence)
        for site, at in prior.items():
            high, low = (value({**prior, site: at * (1 + step)}) for step in (1e-4, -1e-4))
            assert_allclose(gradient[site], (high - low) / (2e-4 * at), rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_gradients_are_finite_at_probability_zero():
    """An MLE with zeros: the derivative of 0 log 0 is not NaN."""
    x, y = jnp.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), jnp.array([0, 0, 1])

    def score(weight):
        fit = nb.fit_mle(nb.NaiveBayes(nb.Bernoulli(), num_classes=2), x, y, sample_weight=weight)
        return fit.predict_log_proba(x)[0, 0]

    assert np.isfinite(jax.jit(jax.grad(score))(jnp.ones(3))).all()


def test_num_classes_must_be_declared_inside_jit(case):
    model = nb.NaiveBayes(nb.Normal())
    with pytest.raises(ValueError, match="num_classes=K"):
        jax.jit(lambda X, y: nb.fit_mle(model, X, y).params)(case.X["normal"], case.y)


def test_nuts_refuses_tracers(case, key):
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=3)
    with pytest.raises(ValueError, match="cannot run inside a JAX transformation"):
        jax.jit(lambda X: nb.fit_nuts(model, X, case.y, key=key).params)(case.X["bernoulli"])


@pytest.mark.slow
def test_importing_changes_no_configuration():
    program = (
        "import jax; before = dict(jax.config.values); import bayesnb; after = dict(jax.config.values);"
        "print({k: (before[k], after[k]) for k in before if before[k] != after[k]})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{}"


@pytest.mark.parametrize("fit", KINDS[1:])
def test_stacked_fits_are_used_in_vmap(fit, rng):
    """What jax.vmap returns is many fits in one: they predict inside vmap, and elsewhere a sentence says so."""
    X, y = jnp.asarray(rng.normal(size=(2, 9, 2))), jnp.asarray(np.tile(np.arange(9) % 3, (2, 1)))
    model = nb.NaiveBayes(nb.Normal(), num_classes=3)
    fits = jax.jit(jax.vmap(lambda X, y: fit(model, X, y)))(X, y)
    alone = [fit(model, *map(np.asarray, rows)).predict_proba(np.asarray(X[0])) for rows in zip(X, y, strict=True)]
    assert_allclose(jax.jit(jax.vmap(lambda fit: fit.predict_proba(X[0])))(fits), alone, atol=1e-4)
    uses = [lambda: fits.predict_proba(X[0]), lambda: fits.log_joint(np.asarray(X[0])), lambda: nb.explain(fits, X[0])]
    if fit is nb.fit_posterior:
        uses += [lambda: fits.log_evidence, lambda: fits.sample(jax.random.key(0), 3)]
    for use in uses:
        with pytest.raises(ValueError, match=r"these are 2 fits, which jax.vmap stacked: use them in jax.vmap"):
            use()


@pytest.mark.slow
def test_an_estimator_inside_jit_names_its_fit(rng):
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 3
    clf = nb.NaiveBayesClassifier("normal").fit(X, y)
    for function in (clf.predict, clf.predict_proba, lambda X: clf.fit(X, y).predict(X)):
        with pytest.raises(ValueError, match=r"use the fit that it holds, as in jax.jit\(clf.fit_.predict_proba\)"):
            jax.jit(function)(X)
    inside = jax.jit(clf.fit_.predict_proba)(clf.encoded(X))
    assert_allclose(inside, clf.predict_proba(X), atol=1e-5)


# what jax.export writes, for programs without us


def float_rows(X):
    return jax.tree.map(lambda x: np.asarray(x, jnp.result_type(float)), X)


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "ragged"))
def test_jax_exports_predictions_of_any_number_of_rows(name):
    case = cases.make(name)
    posterior, rows = nb.fit_posterior(case.model, case.X, case.y), float_rows(case.X)
    for method in ("predict_proba", "log_joint"):
        answer = served(getattr(posterior, method), rows)
        for size in (1, 5, cases.N):
            batch = jax.tree.map(lambda a, size=size: a[:size], rows)
            expected = getattr(posterior, method)(batch)
            assert_allclose(answer(batch), expected, rtol=1e-5, atol=1e-5, err_msg=method)  # float32


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few rows are not to be trusted
@pytest.mark.parametrize("kind", cases.by_default(FITS, "averaged"))
def test_jax_exports_every_kind_of_fit(kind):
    fit = FITS[kind]()
    every = np.array(np.meshgrid(*[[0, 1, np.nan]] * 3)).reshape(3, -1).T
    if isinstance(fit.model.families.get("x"), nb.Multinomial):  # whose rows are whole, or missing
        every = every[np.isin(np.isnan(every).sum(axis=1), (0, 3))]
    for method in ("predict_proba", "predict_log_proba", "log_joint", "log_density"):
        expected = getattr(fit, method)(every)
        assert_allclose(served(getattr(fit, method), every)(every), expected, rtol=1e-5, atol=1e-5, err_msg=method)


def test_jax_exports_rows_that_are_impossible_under_every_class():
    fit = nb.PointEstimate(
        nb.NaiveBayes(nb.Bernoulli()), {"class_probs": [0.5, 0.5], "x_probs": [[0.0, 0.0, 0.3], [0.0, 1.0, 0.6]]}
    )
    rows = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 1]])
    density = served(fit.log_density, rows)(rows)
    assert np.isneginf(density).tolist() == [True, True, True, False, False]
    assert_allclose(served(fit.predict_proba, rows)(rows), fit.predict_proba(rows), rtol=1e-5, atol=1e-6)
    assert served(fit.predict, rows)(rows).tolist() == [1, 1, 0, 0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "fit"),
    [(nb.Normal(), nb.fit_posterior), (nb.Normal(), nb.fit_map), (nb.MultivariateNormal(), nb.fit_posterior)],
)
def test_gradients_flow_through_what_jax_exports(family, fit, rng):
    rows = rng.normal(size=(40, 3)) + np.arange(40)[:, None] % 2
    fitted = fit(nb.NaiveBayes(family), rows, np.arange(40) % 2)

    def loss(predict, joint):
        return jax.jit(jax.grad(lambda x: predict(x)[:, 1].sum() + joint(x).sum()))

    read = [served(getattr(fitted, name), rows, vjp_order=1) for name in ("predict_log_proba", "log_joint")]
    some = jnp.asarray(rows[:5], float).at[2, 1].set(jnp.nan)
    expected = loss(fitted.predict_log_proba, fitted.log_joint)(some)
    assert np.abs(expected[0]).min() > 1e-3
    tight = 1e-12 if jnp.result_type(float) == np.float64 else 1e-6
    assert_allclose(loss(*read)(some), expected, rtol=tight, atol=tight)


@pytest.mark.slow
def test_jax_exports_an_estimator_by_its_fit_and_its_encoded_rows():
    """The whole default, an average with forests and covariances, of a frame with missing cells."""
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    frame = pd.DataFrame({"age": rng.normal(40.0 + 9.0 * y, 9.0), "kilos": rng.normal(70.0 + 9.0 * y, 9.0)})
    frame["port"] = np.where(rng.random(200) < 0.1, None, rng.choice(["C", "Q", "S"], 200))
    clf = nb.NaiveBayesClassifier().fit(frame, y)
    rows = clf.encoded(frame)
    assert isinstance(clf.fit_, nb.results.StackedPosterior)
    assert_allclose(served(clf.fit_.predict_proba, rows)(rows), clf.predict_proba(frame), atol=1e-6)
