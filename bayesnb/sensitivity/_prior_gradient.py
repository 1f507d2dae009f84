"""The derivative of a prediction by every hyperparameter of the prior."""

from __future__ import annotations

from dataclasses import replace

import jax

from bayesnb.arrays._compute import compute_in_threads
from bayesnb.arrays._placement import promote_dtypes
from bayesnb.arrays._typing import Array, Rows
from bayesnb.results._classifier import Posterior
from bayesnb.sensitivity._posterior_rows import take_posterior
from bayesnb.sensitivity._prior_sensitivity import require_given_prior


@promote_dtypes
def prior_gradient(post: Posterior, X: Rows) -> dict[str, dict[str, Array]]:
    """d log p(k | x) / d eta for every hyperparameter eta of the prior: by block and name, [N, K, ...].

    The last axes are those of the hyperparameter in a resolved prior, such as [K, D]; that of the class probabilities
    is ``["class_probs"]["concentration"]``. The rows stay, and with them a prior that is resolved from them.

    Args:
        post: An exact posterior, or an estimator or pipeline with one. Of a default fit, its part without dependence.
            Bins, and so the ``Histogram`` and ``Views``, have no hyperparameters that are numbers to change.
        X: Rows, as the fit takes them.

    Raises:
        ValueError: for fits that are not exact posteriors, and for priors that were learned.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> found = nb.prior_gradient(post, [[1]])
        >>> found["x"]["a"][0, 0, :, 0].round(3)  # a pseudo-one more in class 0, and in class 1, for log p(0 | x)
        array([ 0.029, -0.145])
    """
    fit, X = take_posterior(post, X, "prior_gradient")
    require_given_prior(fit, "prior_gradient")
    fit = getattr(fit, "alone", fit)
    arrays = fit.arrays(X)
    numbers = (fit.model.num_classes or 0) ** 2 * sum(x.shape[1] for x in arrays.values())
    return compute_in_threads(_gradients, (fit,), arrays, numbers)


@jax.jit
def _gradients(fit: Posterior, arrays: dict[str, Array]) -> dict[str, dict[str, Array]]:
    families = fit.prior.families
    given = {b: {name: getattr(f, name) for name in (*f.positive, *f.squared)} for b, f in families.items()}
    if fit.model.class_probs is None:
        given["class_probs"] = {"concentration": fit.prior.class_concentration}

    def log_proba(row: dict[str, Array], given: dict[str, dict[str, Array]]) -> Array:
        own = {b: family._replace(**given[b]) for b, family in families.items()}
        count = given.get("class_probs", {}).get("concentration", fit.prior.class_concentration)
        prior = fit.prior.with_hyperparameters(own, count)
        model = prior.update(fit.statistics)._replace(class_probs=fit.model.class_probs)
        one = replace(fit, prior=prior, model=model)
        return one.scores({b: x[None] for b, x in row.items()}).normalise()[0]

    return jax.vmap(jax.jacrev(log_proba, argnums=1), (0, None))(arrays, given)
