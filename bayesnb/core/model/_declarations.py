"""What a model declares before any data: its blocks, class prior and classes, and priors that are not conjugate.

NumPyro distributions may stand in place of a family's prior, or of hyperparameters (hyperpriors):

    theta_kd ~ the distribution given for its site,    rows | theta ~ likelihood
    h ~ hyperprior;  theta | h ~ prior(h);             rows | theta ~ likelihood

A hyperprior's site is ``block_prior_field``, such as ``x_prior_a``, or ``class_concentration``.
There is then no closed form; ``fit_nuts`` runs on the full program, whose likelihood still enters through statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions.constraints import Constraint
from numpyro.primitives import Messenger

from bayesnb.compute.arrays._placement import Array, allow_promotion, as_array, short_repr
from bayesnb.core.families._base import Family
from bayesnb.core.families._views import require_no_view
from bayesnb.core.families.parts._support import WIDER, require_positive, single
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows import _checks as checks
from bayesnb.core.rows._labelled_rows import Specification


def check_families(families: Mapping[str, Any]) -> None:
    """Raise ValueError unless these are families by name, at least one, with a name for every part of the program."""
    if not families:
        raise ValueError("a model needs at least one block: a family, or a dict of families by name")
    for name, family in families.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"a block's name must be a Python identifier, got {name!r}")
        require_no_view(family)
        if not isinstance(family, Family):
            hint = f"{family.__name__}(...)" if isinstance(family, type) else "nb.Normal()"
            raise ValueError(f"block {name!r} must be a family such as {hint}, got {family!r}")
    parts = [f"{block}_{part}" for block, f in families.items() for part in (*f.sites, "classes", "features")]
    names = ["label", "rows", "class_probs", *families, *parts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two parts of the program would have the name {twice[0]!r}: rename a block")


def check_concentration(given: Any) -> Any:
    """The concentration of the class probabilities, an array if it is given by class.

    Raises:
        ValueError: for anything but positive numbers.
    """
    value = as_array(given) if isinstance(given, list | tuple | np.ndarray) else given
    if value is None or getattr(value, "ndim", 0) > 1 or getattr(value, "size", 1) == 0:
        raise ValueError(f"NaiveBayes: class_concentration must be a number, or one per class, got {short_repr(given)}")
    require_positive("NaiveBayes", class_concentration=value)
    return value


def check_model_float32(families: Mapping[str, Family], class_concentration: Any) -> None:
    """``check_float32`` of ``rows._checks`` for a whole model."""
    checks.check_float32(families)
    if jnp.result_type(float) == np.float32:
        try:
            check_concentration(single(class_concentration))
        except ValueError as error:
            raise ValueError(f"in float32, {error}; {WIDER}") from None


def find_num_classes(
    num_classes: int | None, class_probs: Any, class_concentration: Any, families: Mapping[str, Family]
) -> int | None:
    """K, or None if nothing declares it.

    Raises:
        ValueError: if two parts of the model declare different numbers.
    """
    found = {"num_classes": arguments.check_num_classes(num_classes), "class_concentration": None, "class_probs": None}
    if class_probs is not None:
        found["class_probs"] = np.shape(class_probs)[0]
    if np.ndim(class_concentration) == 1:
        found["class_concentration"] = np.shape(class_concentration)[0]
    found |= {name: family.num_classes for name, family in families.items()}
    known = {name: k for name, k in found.items() if k is not None}
    if len(set(known.values())) > 1:
        raise ValueError(f"the model declares different numbers of classes: {known}")
    return next(iter(known.values()), None)


Model = TypeVar("Model", bound=Specification)

Priors = dict[str, dist.Distribution]
"""Distributions by site, such as ``x_probs``."""


class own_priors(Messenger):
    """A context in which the named sites have these priors, broadcast to the sites' plates."""

    def __init__(self, priors: Priors) -> None:
        super().__init__()
        self.priors = priors

    def process_message(self, msg: dict[str, Any]) -> None:
        """Replace the site's prior with the given one."""
        if msg["type"] == "sample" and msg["name"] in self.priors:
            prior, distribution = self.priors[msg["name"]], msg["fn"]
            _check_shape(msg["name"], prior, distribution)
            msg["fn"] = prior.expand(distribution.batch_shape)


def check_priors(priors: Mapping[str, Any] | None, sites: list[str], fixed: bool) -> Priors:
    """The checked priors of a model with these sites; ``fixed`` means that its class probabilities are fixed.

    Raises:
        ValueError: for a site that the model does not have, and for anything but a continuous distribution.
    """
    if priors is not None and not isinstance(priors, Mapping):
        raise ValueError(
            "priors must be a dict of NumPyro distributions by site, such as {'x_probs': dist.Uniform(0.2, 0.8)}, got "
            f"{priors!r}"
        )
    for site, prior in (priors or {}).items():
        if site not in sites:
            raise ValueError(f"priors has the unknown site {site!r}; the sites of this model are {sites}")
        if site == "class_probs" and fixed:
            raise ValueError("class_probs is fixed and has a prior as well: leave one of them out")
        if not isinstance(prior, dist.Distribution) or prior.support.is_discrete or isinstance(prior, dist.Delta):
            raise ValueError(f"the prior of {site!r} must be a continuous NumPyro distribution, got {prior!r}")
    return dict(priors or {})


def initial_params(model: Any, params: Mapping[str, Array]) -> dict[str, Array]:
    """Those of the parameters, interior under the conjugate priors, that are also interior under their own priors.

    Raises:
        ValueError: if a prior does not fit its site in shape or in values.
    """
    with allow_promotion(), handlers.block(), handlers.seed(rng_seed=0):
        conjugate = handlers.trace(handlers.substitute(model.conjugate().params, data=params)).get_trace()
    found = dict(params)
    for site, prior in model.priors.items():
        distribution = conjugate[site]["fn"]
        _check_shape(site, prior, distribution)
        _check_support(site, prior.support, distribution.support, prior.shape())
        unconstrained = dist.biject_to(prior.support).inv(params[site])
        if not (prior.support(params[site]).all() and jnp.isfinite(unconstrained).all()):
            del found[site]
    return found


def _check_support(site: str, own: Constraint, distribution: Constraint, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless points all over the prior's support are valid parameters."""
    if type(own) is type(distribution):
        return
    from_reals = dist.biject_to(own)
    points = from_reals(3.0 * jax.random.normal(jax.random.key(0), from_reals.inverse_shape((100, *shape))))
    if not distribution(points).all():
        raise ValueError(
            f"the prior of {site!r} has the support {own}, which is not inside the parameters' support {distribution}"
        )


def _check_shape(site: str, prior: dist.Distribution, distribution: dist.Distribution) -> None:
    try:
        fits = jnp.broadcast_shapes(prior.batch_shape, distribution.batch_shape) == distribution.batch_shape
    except ValueError:
        fits = False
    if not fits or prior.event_shape != distribution.event_shape:
        raise ValueError(
            f"the prior of {site!r} has batch shape {prior.batch_shape} and event shape {prior.event_shape}; the site "
            f"has {distribution.batch_shape} and {distribution.event_shape}: the batch shapes must broadcast, and the "
            "event shapes must be equal"
        )


def hyperpriors(model: Specification) -> dict[str, dist.Distribution]:
    """The hyperpriors of a model by site; empty if every hyperparameter is a number, an array or left to the data."""
    found: dict[str, dist.Distribution] = {}
    for block, family in model.families.items():
        values, _ = jax.tree_util.tree_flatten_with_path(family, _is_distribution)
        found |= {f"{block}_prior_{path[-1].name}": value for path, value in values if _is_distribution(value)}
    if isinstance(model.class_concentration, dist.Distribution):
        found["class_concentration"] = model.class_concentration
    return found


def fill_hyperpriors(model: Model, values: Mapping[str, Array]) -> Model:
    """The model with values in place of its hyperpriors; pure JAX."""

    def fill(block: str, path: Any, value: Any) -> Any:
        return values[f"{block}_prior_{path[-1].name}"] if _is_distribution(value) else value

    families = {
        block: jax.tree_util.tree_map_with_path(partial(fill, block), family, is_leaf=_is_distribution)
        for block, family in model.families.items()
    }
    return model.with_hyperparameters(families, values.get("class_concentration", model.class_concentration))


def sample_hyperparameters(model: Specification, names: Mapping[str, str] | None = None) -> dict[str, Array]:
    """Sample every hyperprior, inside a NumPyro program, and return the values by site; ``names`` are other names."""
    names = names or {}
    with allow_promotion():
        return {
            site: numpyro.sample(names.get(site, site), d.to_event(len(d.batch_shape)))
            for site, d in hyperpriors(model).items()
        }


def _is_distribution(value: Any) -> bool:
    return isinstance(value, dist.Distribution)
