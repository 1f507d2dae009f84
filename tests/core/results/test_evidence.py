"""The evidence in parts: each block, feature and class is a problem of its own, and the parts add up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, gammaln

import bayesnb as nb
from tests import cases


@pytest.mark.parametrize("name", cases.SEVERAL)
def test_parts_add_up(name):
    case = cases.make(name)
    fit = nb.fit_posterior(case.model, case.X, case.y)
    table = fit.evidence_table()
    assert list(table.features) == list(fit.prior.families)
    assert_allclose(table.labels + sum(part.sum() for part in table.features.values()), fit.log_evidence, rtol=1e-12)
    for block, part in table.features.items():
        shared = bool(fit.prior.families[block].common_sites)
        assert part.shape[0] == (1 if shared else 3)


def test_a_feature_of_a_class_is_a_problem_of_its_own():
    case = cases.make("normal")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    part = fit.evidence_table().features["x"]
    for k in range(3):
        rows = case.y == k
        for d in range(3):
            prior = jax.tree.map(lambda leaf, k=k, d=d: leaf[[k]][:, [d]], fit.prior.families["x"])
            alone = nb.fit_posterior(nb.NaiveBayes(prior, class_probs=[1.0]), case.X[rows][:, [d]], case.y[rows] * 0)
            assert_allclose(part[k, d], alone.log_evidence, rtol=1e-10)


def test_labels_are_a_polya_urn():
    y = np.array([0, 0, 1, 2, 2, 2])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), class_concentration=[0.5, 1.0, 2.0]), np.ones((6, 1)), y)
    urn, counts = 0.0, np.array([0.5, 1.0, 2.0])
    for k in y:
        urn += np.log(counts[k] / counts.sum())
        counts[k] += 1
    assert_allclose(fit.evidence_table().labels, urn, rtol=1e-12)
    fixed = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.2, 0.3, 0.5]), np.ones((6, 1)), y)
    assert_allclose(fixed.evidence_table().labels, 2 * np.log(0.2) + np.log(0.3) + 3 * np.log(0.5), rtol=1e-12)


@pytest.mark.parametrize("device", [False, True], ids=["numpy", "jax"])
def test_a_hundred_million_rows_to_a_thousandth_of_a_nat(device):
    """The evidence is -7e7 nats a column; float32 counts to 8 there, and 1e-6 of it would be 69 nats."""
    model = nb.NaiveBayes(nb.Bernoulli(2.0, 3.0), num_classes=2)
    one = nb.sufficient_statistics(model, np.array([[1, 0], [0, 1], [1, 1], [0, 0]]), [0, 0, 1, 1])
    # multiples of a power of two, which float32 holds exactly
    trials, successes = 2.0**25 * np.array([[1.0, 1.0], [2.0, 2.0]]), 2.0**23 * np.array([[1.0, 3.0], [2.0, 5.0]])
    block = type(one.blocks["x"])(successes=successes, trials=trials)
    statistics = type(one)(trials[:, 0], {"x": block})
    if device:
        statistics = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), statistics)
    found = nb.fit_posterior(model, statistics=statistics).evidence_table()
    expected = betaln(2 + successes, 3 + trials - successes) - betaln(2, 3)
    assert_allclose(found.features["x"], expected, atol=1e-3, rtol=0)
    n = trials[:, 0]
    labels = gammaln(1 + n).sum() - gammaln(2 + n.sum())
    assert_allclose(found.labels, labels, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    "name",
    cases.by_default(
        ["bernoulli", "categorical", "multinomial", "poisson", "normal", "covariance"], "poisson", "covariance"
    ),
)
def test_its_gradient_is_that_of_finite_differences(name):
    case = cases.make(name)
    prior = case.model.resolve(case.X, case.y)
    statistics = nb.sufficient_statistics(prior, case.X, case.y)

    def log_evidence(factor):
        """With one of the hyperparameters times a factor."""
        family = prior.families["x"]
        fields = {"bernoulli": "a", "poisson": "shape", "normal": "rate", "covariance": "strength"}
        field = fields.get(name, "concentration")
        changed = family._replace(**{field: getattr(family, field) * factor})
        model = prior.with_hyperparameters({"x": changed}, prior.class_concentration)
        return nb.Posterior(model, model, statistics).log_evidence

    found = jax.jit(jax.grad(log_evidence))(1.1)
    step = 1e-4
    high, low = (log_evidence(1.1 + s) for s in (step, -step))
    assert_allclose(found, (high - low) / (2 * step), rtol=1e-3, atol=1e-3)
