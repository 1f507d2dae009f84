"""The generative program, row by row, in NumPyro.

    h ~ hyperprior                                 if a hyperparameter is a distribution
    pi ~ Dirichlet(class_concentration)            or fixed class_probs
    theta_b ~ prior of family b                    for each block b, [K, D_b]
    y_n ~ Categorical(pi)                          for each row n
    x_nb ~ likelihood of family b at theta_b[y_n]  independently over blocks and columns

Sites: ``class_probs`` [K], ``label`` [N], ``block_name`` [K, D, ...] for parameters, ``block`` [N, D] for rows.

NumPyro's ``Predictive(model, num_samples=S)(key, X, y)`` draws parameters from the prior, and for a resolved model
``Predictive(model, posterior_samples=post.sample(key, S))(key, num_rows=N)`` draws new rows. Given rows, draws of their
labels need ``Predictive(model, posterior_samples=..., infer_discrete=True)(key, X)``, which uses funsor: otherwise
labels are drawn without regard to X.
"""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext
from functools import singledispatch
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers

from bayesnb.compute.arrays._placement import Array, at_once_unless_traced, promote_dtypes
from bayesnb.core.families import Mapped, NormalKnownVariance
from bayesnb.core.families._base import Params
from bayesnb.core.model._declarations import fill_hyperpriors, hyperpriors, sample_hyperparameters
from bayesnb.core.rows._checks import check_rows, count_rows
from bayesnb.core.rows._labelled_rows import Specification, check_labels
from bayesnb.core.rows._sufficient_statistics import pooled_statistics


@promote_dtypes
def run(model: Any, X: Any, y: Any, num_rows: int | None, total_count: Any) -> tuple[Any, Array]:
    """Run the program; ``model(X, y)`` calls this inside MCMC, Predictive or render_model.

    Args:
        model: The specification.
        X: Rows to condition on, an array [N, D] or a dict by block; None to generate them.
        y: Integer labels to condition on; None makes the label latent, which inference sums out with funsor.
        num_rows: The number of rows to generate if X is None.
        total_count: The length of generated Multinomial rows, a number or [N].

    Returns:
        X and y as observed or generated.

    Raises:
        ValueError: if the rows do not fit, or the model must be resolved first.
        ImportError: if rows are given without labels and funsor is not installed.
    """
    given = nullcontext()
    if X is not None and y is None and model.num_classes is None:  # Predictive knows K from its posterior_samples
        model = model.with_class_probs(numpyro.sample("class_probs", _AnyClasses(model.class_concentration)))
        given = handlers.block(hide=["class_probs"])
    # a sampler traces this program, but the rows in its closure are concrete: evaluate now, so that they are checked
    with at_once_unless_traced(model, X, y):
        arrays, num_rows = _rows(model, X, y, num_rows)
        statistics = None if model.resolved else pooled_statistics(model, X, y)
        if statistics is not None and not hyperpriors(model):
            model = model.resolve(statistics=statistics)
        y = _labels(model, y, num_rows, latent=arrays is not None)
    if hyperpriors(model):
        names = {} if model.spelling is None else {own: name for name, own in model.spelling.hyper}
        model = fill_hyperpriors(model, sample_hyperparameters(model, names)).resolve(statistics=statistics)
    with given:
        params = model.params()
    with numpyro.plate("rows", num_rows):
        labels = dist.Categorical(probs=model.class_probs_of(params))
        names = {"label": "label"} if model.spelling is None else model.spelling.observed
        y = numpyro.sample(names["label"], labels, obs=y, infer={"enumerate": "parallel"})
        of_row = {b: params_of_rows(model.families[b], p, y) for b, p in model.block_params(params).items()}
        rows = {
            b: family.observe(
                names.get(b, b), of_row[b], None if arrays is None else jnp.asarray(arrays[b]), total_count
            )
            for b, family in model.families.items()
        }
    return model.own_rows(rows["x"] if model.single else rows), y


@singledispatch
def params_of_rows(family: Any, params: Params, y: Array, draw: Array | None = None) -> dict[str, Array]:
    """The parameters of each row's class, with first axis N, or 1 for parameters that all classes share.

    With ``draw`` [N], ``params`` are draws [S, ...], and row n takes draw ``draw[n]``.
    """
    common = family.common_sites
    values = {site: jnp.asarray(value) for site, value in params.items()}
    if draw is None:
        return {site: value[None] if site in common else value[y] for site, value in values.items()}
    return {site: value[draw] if site in common else value[draw, y] for site, value in values.items()}


@params_of_rows.register(NormalKnownVariance)
def _(family: Any, params: Params, y: Array, draw: Array | None = None) -> dict[str, Array]:
    variance = jnp.broadcast_to(family.variance, jnp.shape(params["loc"])[-2:])
    return {**params_of_rows.dispatch(object)(family, params, y, draw), "variance": variance[y]}


@params_of_rows.register(Mapped)
def _(family: Any, params: Params, y: Array, draw: Array | None = None) -> dict[str, Array]:
    of_parts = family.each(lambda part, own: params_of_rows(part, own, y, draw), family.own(params))
    found: dict[str, Array] = family.join(of_parts)
    return found


class _AnyClasses(dist.Distribution):
    """A Dirichlet over as many classes as its given value has; it cannot be sampled."""

    support = dist.constraints.simplex

    def __init__(self, concentration: Any) -> None:
        self.concentration = concentration
        super().__init__(event_shape=(1,), validate_args=False)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Raise ValueError: the number of classes is unknown."""
        del key, sample_shape
        raise ValueError("without y the number of classes must be declared: NaiveBayes(..., num_classes=K)")

    def log_prob(self, value: Array) -> Array:
        """The density of class probabilities [..., K]."""
        return dist.Dirichlet(jnp.broadcast_to(self.concentration, value.shape[-1:])).log_prob(value)


def _rows(model: Any, X: Any, y: Any, num_rows: int | None) -> tuple[dict[str, Array] | None, int]:
    if X is not None:
        arrays = check_rows(model.families, model.single, model.by_block(X), model.columns)
        return arrays, count_rows(arrays)
    if not model.resolved:
        raise ValueError(
            "generating rows needs a resolved model, such as model.resolve(X, y) or a posterior's prior: "
            "model.resolve(X, y)(num_rows=100), or with NumPyro's Predictive(post.prior, ...)(key, num_rows=100)"
        )
    if num_rows is None and y is None:
        raise ValueError("the number of rows is unknown: give X, y or num_rows")
    return None, np.shape(y)[0] if num_rows is None else num_rows


def _labels(model: Specification, y: Any, num_rows: int, latent: bool) -> Array | None:
    if y is not None:
        labels, _ = check_labels(model.labels_of(y), None, num_rows, model.num_classes)
        if labels.soft:
            raise ValueError(
                "the program needs integer labels; soft labels are supported by fit_mle, fit_map, fit_posterior"
            )
        return jnp.asarray(labels.y)
    if latent and importlib.util.find_spec("funsor") is None:
        raise ImportError(
            "with X given and y missing the label is latent, and NumPyro sums it out with funsor, not installed here: "
            "pip install 'bayesnb[funsor]'. To predict labels, fit the model and call predict_proba."
        )
    return None
