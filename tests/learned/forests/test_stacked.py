"""The average of a posterior with models of dependence, against its parts."""

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp

import bayesnb as nb
from tests import cases
from tests.learned.forests.stacked import BLOCKS, KINDS, K, N, Y, learn, rows_of, stacked
from tests.served import served


@pytest.fixture(params=cases.by_default(KINDS, "categories", "words"), scope="module")
def problem(request):
    return stacked(request.param), rows_of(request.param)


def test_predictions_are_the_average_of_the_parts(problem):
    fit, X = problem
    parts = [fit.alone, *fit.forests.values(), *fit.normals.values()]
    assert [fit.structures, [*fit.forests]] == [("best", "aode"), ["best", "aode"]]
    assert [*fit.normals] == (["lda", "qda"] if not isinstance(X, dict) or "numbers" in X else [])
    probs = np.stack([part.predict_proba(X) for part in parts])
    assert np.abs(probs[1:] - probs[0]).max(axis=(1, 2)).min() > 0.005  # far from rounding
    assert fit.shares.min() > 0.0
    expected = np.einsum("m,mnk->nk", fit.shares, probs)
    assert_allclose(fit.predict_proba(X), expected, rtol=1e-9)
    assert_array_equal(fit.predict(X), expected.argmax(axis=1))
    assert "shares={columns: 0." in repr(fit)


def test_the_joint_has_the_density_of_the_posterior(problem):
    fit, X = problem
    exact = nb.Posterior(fit.prior, fit.model, fit.statistics)
    assert_allclose(logsumexp(fit.log_joint(X), axis=1), exact.log_density(X), rtol=1e-9)
    assert_allclose(log_softmax(fit.log_joint(X), axis=1), fit.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    assert_allclose(fit.log_density(X), exact.log_density(X), rtol=1e-9)
    assert float(fit.log_evidence) == float(exact.log_evidence)
    key = jax.random.key(0)
    jax.tree.map(assert_array_equal, fit.sample(key, 3), exact.sample(key, 3))


def test_another_population_multiplies_the_odds(problem):
    fit, X = problem
    own, probs = np.asarray(fit.model.class_mean()), np.array([0.1, 0.2, 0.7])
    moved = fit.with_class_probs(probs)
    expected = fit.predict_log_proba(X) + np.log(probs / own)
    assert_allclose(moved.predict_log_proba(X), log_softmax(expected, axis=1), rtol=1e-9, atol=1e-12)
    assert_allclose(moved.with_class_probs(own).predict_proba(X), fit.predict_proba(X), rtol=1e-9)
    without = fit.with_class_probs([0.5, 0.0, 0.5]).predict_proba(X)
    assert_allclose(without, np.where(np.arange(K) == 1, 0.0, fit.predict_proba(X) / own) / (
        (fit.predict_proba(X) / own)[:, ::2].sum(axis=1, keepdims=True)
    ), rtol=1e-9)  # fmt: skip


def test_given_class_probabilities_are_those_of_a_moved_fit():
    fit, X, probs = stacked("one block"), rows_of("one block"), [0.1, 0.0, 0.9]
    given = learn(nb.fit_posterior(nb.NaiveBayes(fit.prior.families["x"], class_probs=probs), X, Y), X, Y)
    assert_allclose(given.predict_proba(X), fit.with_class_probs(probs).predict_proba(X), rtol=1e-9)
    assert_allclose(given.with_class_probs([0.2, 0.3, 0.5]).predict_proba(X), fit.with_class_probs(
        [0.2, 0.3, 0.5]
    ).predict_proba(X), rtol=1e-9)  # fmt: skip


@pytest.mark.parametrize("problem", cases.by_default(KINDS, "words"), indirect=True)
def test_inside_jax_predictions_are_those_of_numpy_rows(problem):
    """The fit is an argument, and rows come one by one."""
    fit, X = problem
    moved = fit.with_class_probs([0.1, 0.0, 0.9])

    def predict(fit, row):
        return fit.predict_proba(jax.tree.map(lambda x: x[None], row))[0]

    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(predict, (None, 0)))(*jax.tree.map(jnp.asarray, (moved, X)))
    assert_allclose(found, moved.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_rows_inside_jax_need_no_factor_each():
    """Batches of LAPACK's factors, as a row with missing cells would need under ``vmap``, may wait for each other."""
    fit = stacked("one block")
    program = str(jax.make_jaxpr(jax.vmap(lambda row: fit.predict_proba(row[None])))(jnp.asarray(rows_of("one block"))))
    assert "scan" in program
    assert "cholesky" not in program
    assert "triangular_solve" not in program


@pytest.mark.slow
def test_slopes_are_those_of_small_steps():
    fit, X = stacked("one block"), np.nan_to_num(BLOCKS["numbers"])
    fit = jax.tree.map(np.array, fit)  # JAX keeps constants by their identity, in the precision of the first trace
    with jax.enable_x64(True):
        slope = jax.grad(lambda x: fit.predict_log_proba(x)[:, 0].sum())(jnp.asarray(X))
    steps = 1e-6 * np.eye(3)
    change = [(fit.predict_log_proba(X + step) - fit.predict_log_proba(X - step))[:, 0] / 2e-6 for step in steps]
    jumps = np.abs(np.stack(change, axis=1)) > 1e3  # at edges of bins
    assert jumps.mean() < 0.02
    assert_allclose(np.where(jumps, 0, slope), np.where(jumps, 0, np.stack(change, axis=1)), rtol=1e-3, atol=1e-4)


def test_parts_stay_as_they_are(problem, tmp_path):
    """Through a pytree, whose dicts are sorted, and through a file."""
    fit, X = problem
    again = jax.tree.map(lambda leaf: leaf, fit)
    moved = fit.with_class_probs([0.1, 0.2, 0.7])
    for one, other in ((fit, again), (fit, saved(fit, tmp_path)), (moved, saved(moved, tmp_path))):
        assert other.parts == fit.parts
        assert_array_equal(one.predict_log_proba(X), other.predict_log_proba(X))
        for own, found in zip(one.forests.values(), other.forests.values(), strict=True):
            assert_array_equal(own.predict_log_proba(X), found.predict_log_proba(X))
    assert jax.tree.structure(fit) == jax.tree.structure(again)


def saved(fit, folder):
    nb.save(fit, folder / "fit")
    return nb.load(folder / "fit")


@pytest.mark.parametrize("problem", cases.by_default(KINDS, "words"), indirect=True)
def test_exported_functions_give_the_same(problem, tmp_path):
    fit, X = problem
    nb.export(fit, tmp_path / "fit.onnx")
    assert_allclose(served(fit.predict_proba, X)(X), fit.predict_proba(X), rtol=2e-3, atol=1e-5)
    session = onnxruntime.InferenceSession(tmp_path / "fit.onnx", providers=["CPUExecutionProvider"])
    rows = X if isinstance(X, dict) else {"X": X}
    found = session.run(["proba"], {name: x.astype(float) for name, x in rows.items()})[0]
    assert_allclose(found, fit.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_a_shifted_population_is_found():
    """20 rows of the first class for one of each other."""
    fit, X = stacked("one block"), rows_of("one block")
    shifted = np.concatenate([np.tile(np.flatnonzero(Y == 0), 20), np.flatnonzero(Y > 0)])
    found = nb.estimate_class_probs(fit, X[shifted])
    assert_allclose(found.class_probs, [20 / 22, 1 / 22, 1 / 22], atol=0.08)
    moved = fit.with_class_probs(found.class_probs)
    assert_allclose(found.fit.predict_proba(X), moved.predict_proba(X), rtol=1e-6)


def test_what_is_refused(key):
    fit, X = stacked("one block"), rows_of("one block")
    for interval in (fit.predict_interval, fit.contribution_interval):
        with pytest.raises(ValueError, match=r"has no intervals.*fit\.alone, or fit with .*dependence=False"):
            interval(X, key=key)
    with pytest.raises(ValueError, match=r"an average of predictions has no form: .*dependence=False"):
        nb.linear_form(fit)
    with pytest.raises(ValueError, match=r"temper its first part, fit\.alone"):
        nb.temper(fit, X, Y)
    with pytest.raises(ValueError, match=r"stacking_weights takes Posteriors, .* got StackedPosterior"):
        nb.stacking_weights([fit, fit.alone], X, Y)
    with pytest.raises(ValueError, match=r"powers of each part: give them to its first part, fit\.alone"):
        fit.with_powers(0.5)
    assert fit.alone.predict_interval(X[:2], key=key, num_draws=20).low.shape == (2, K)
    assert nb.temper(fit.alone, X, Y).predict_proba(X).shape == (N, K)
