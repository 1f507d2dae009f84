"""Draws against exact answers: within 5 Monte Carlo standard errors."""

import jax
import numpy as np
from numpyro.diagnostics import effective_sample_size

import bayesnb as nb


def exact_mean(posterior):
    """The posterior means of the sites: of a variance rate / (shape - 1), of a covariance scale / (df - D - 1)."""
    means = {site: np.asarray(value, np.float64) for site, value in posterior.reference().items()}
    for block, family in posterior.families.items():
        if isinstance(family, nb.Normal):
            mean = np.asarray(family.rate, np.float64) / (np.asarray(family.shape) - 1.0)
            means[f"{block}_variance"] = mean[0] if family.variance == "shared" else mean
        if isinstance(family, nb.MultivariateNormal):
            free = np.asarray(family.df) - family.loc.shape[1] - 1.0
            mean = np.asarray(family.scale, np.float64) / free[:, None, None]
            means[f"{block}_covariance"] = mean[0] if family.covariance == "shared" else mean
    return means


def means_agree(draws, exact):
    """Every site's mean over draws is the exact one."""
    for site, mean in exact.items():
        values = np.asarray(draws.params[site], np.float64)
        chains = values.reshape(draws.num_chains, -1, *values.shape[1:])
        error = values.std(axis=0) / np.sqrt(effective_sample_size(chains)) if np.ptp(values, axis=0).all() else 0.0
        assert (np.abs(values.mean(axis=0) - mean) <= 5 * error + 1e-6 * np.abs(mean)).all(), site


def predictions_agree(draws, truth, rows):
    """p(y | x) [N, K] averages the joint over draws; its standard error by the delta method for a ratio.

    The rows must lie where classes overlap: a probability of 1e-12 hangs on a few draws, whose spread says nothing.
    """

    def log_joint(params):
        return nb.PointEstimate.trust(draws.model, params).log_joint(rows)

    with jax.enable_x64(True):
        # thousands of factorisations side by side can leave XLA's threads waiting for each other
        joint = np.exp(jax.lax.map(log_joint, draws.params, batch_size=250))
    residual = joint - truth * joint.sum(axis=-1, keepdims=True)
    error = residual.std(axis=0) / joint.sum(axis=-1).mean(axis=0)[:, None]
    error /= np.sqrt(effective_sample_size(residual[None]))
    assert error.max() < 0.05
    assert (np.abs(draws.predict_proba(rows) - truth) <= 5 * error).all()
