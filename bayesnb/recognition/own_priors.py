"""Priors that are not conjugate, carried over to the model's parameters by a change of variables."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms

from bayesnb.model.links import LINKS, ChangedLaw
from bayesnb.recognition.classes import same
from bayesnb.recognition.points import Latent
from bayesnb.recognition.priors import Fed
from bayesnb.recognition.refusals import NotNaiveBayes
from bayesnb.recognition.sites import value_inside

Laws = Mapping[str, list[Any]]
"""By latent, its distribution at several points of the latents."""

FAR = 30.0
"""An unconstrained value far out."""


def covers(fed: Fed, laws: Laws, latents: Mapping[str, Latent], support: Any) -> bool:
    """Whether the latents reach the whole support of the canonical site; Uniform(0.2, 0.8) does not."""
    # of a simplex of two, one number
    far = dist.biject_to(constraints.unit_interval if support.event_dim else support)(jnp.array([[-FAR], [FAR]]))
    for part in fed.parts:
        law, values = laws[part.source][0], latents[part.source].values[:1]
        if law.event_dim:
            continue  # a simplex, or positive definite
        ends = np.repeat(values.reshape(1, -1), 2, axis=0)
        ends[:, part.taken.values] = part.through(np.broadcast_to(far, (2, len(part.taken.values))), inverse=True)
        if not law.support(ends.reshape(2, *values.shape[1:])).all():
            return False
    return True


def own_prior(fed: Fed, latents: Mapping[str, Latent], laws: Laws, site: str) -> dist.Distribution:
    """The distribution of the canonical site, by draw of it."""
    names, links = list(dict.fromkeys(part.source for part in fed.parts)), {part.link for part in fed.parts}
    what = f"the prior of {', '.join(repr(name) for name in names)}, a parameter of site {site!r},"
    for name in names:
        first, second = laws[name]
        value = value_inside(first)
        if not same(np.asarray(first.log_prob(value)), np.asarray(second.log_prob(value))).all():
            raise NotNaiveBayes(f"{what} is not conjugate, and it depends on other latent sites")
        try:
            first.sample(jax.random.key(0))
        except NotImplementedError as error:
            raise NotNaiveBayes(
                f"{what} is not conjugate, and no draws can be made from it, as from an improper prior: give it a "
                "distribution with a sample method"
            ) from error
    if links <= {"expit", "expit of minus"} and fed.values.event == 1 and laws[names[0]][0].support is constraints.real:
        return _law_of_two_classes(fed, laws[names[0]][0])
    if len(links) > 1 and fed.values.event:
        raise NotNaiveBayes(
            f"{what} is not conjugate: give two classes a Beta on the probability of one, or a Dirichlet"
        )
    if len(links) > 1:
        raise NotNaiveBayes(f"{what} is not conjugate, and is used through different functions: use one for all")
    link = LINKS[links.pop()]
    if fed.values.event:
        whole = [part.taken.all_in_order and part.placed.all_in_order for part in fed.parts]
        if link is not LINKS["identity"] or len(names) > 1 or not all(whole):
            raise NotNaiveBayes(
                f"{what} is not conjugate: a vector or matrix with such a prior must be the parameter itself, with its "
                "classes and columns in order"
            )
        return laws[names[0]][0]
    law = _arrange(fed, [laws[name][0] for name in names], [latents[name].log_prob.shape[1:] for name in names], what)
    changes = [] if link is LINKS["identity"] else [link.transform]
    if any(part.scale for part in fed.parts):
        shift, scale = _constants(fed)
        if law.support is not constraints.real and (np.sign(scale) != np.sign(scale.ravel()[0])).any():
            raise NotNaiveBayes(f"{what} is not conjugate, and is used with both signs: use one for all")
        changes = [transforms.AffineTransform(shift, scale), *changes]
    return ChangedLaw(law, changes) if changes else law


def _law_of_two_classes(fed: Fed, law: Any) -> dist.Distribution:
    """The law of two probabilities that a logit with this law determines."""
    sign = next(-1.0 if part.link == "expit of minus" else 1.0 for part in fed.parts if 0 in part.placed.values)
    shift, scale = (sign * constant[0] for constant in _constants(fed))
    # for two classes, the first part of the stick is expit
    changes = [transforms.AffineTransform(shift, scale), transforms.StickBreakingTransform()]
    return dist.TransformedDistribution(law.expand([1]).to_event(1), changes)


def _constants(fed: Fed) -> Any:
    """The shift and the scale of every element of the canonical site."""
    found = np.stack([np.zeros(fed.values.shape).ravel(), np.ones(fed.values.shape).ravel()])
    for part in fed.parts:
        found[:, part.placed.values] = [part.shift or (0.0,), part.scale or (1.0,)]
    return found.reshape(2, *fed.values.shape)


def _arrange(fed: Fed, laws: list[Any], batches: list[tuple[int, ...]], what: str) -> Any:
    """The law of every draw of the canonical site: of numbers that all have, or with parameters of its shape."""
    kinds = {type(law) for law in laws}
    if len(kinds) > 1:
        raise NotNaiveBayes(
            f"{what} is not conjugate, and mixes {', '.join(sorted(kind.__name__ for kind in kinds))}: only one "
            "distribution for all classes and columns is recognised, such as a prior by class with its parameters"
        )
    in_order = batches[0] == fed.values.shape and np.array_equal(fed.units, np.arange(len(fed.units)))
    if len(laws) == 1 and (in_order or not laws[0].batch_shape):
        return laws[0]
    names = [name for name in laws[0].arg_constraints if getattr(laws[0], name, None) is not None]
    values = [{name: np.asarray(getattr(law, name)) for name in names} for law in laws]
    # a truncated or transformed distribution is more than its own parameters
    if not names or set(inspect.signature(type(laws[0])).parameters) - {*names, "validate_args"}:
        raise NotNaiveBayes(
            f"{what} is not conjugate, and not one distribution with its parameters: write it with a draw for each "
            "class and column, [K, D]"
        )
    if all((np.ravel(v[name]) == np.ravel(values[0][name])[0]).all() for v in values for name in names):
        return kinds.pop()(**{name: float(np.ravel(values[0][name])[0]) for name in names})
    params = {}
    for name in names:
        found = np.zeros(len(fed.units))
        for number, batch in enumerate(batches):
            mine = fed.sources == number
            found[mine] = np.broadcast_to(values[number][name], batch).ravel()[fed.units[mine]]
        params[name] = found.reshape(fed.values.shape)
    return kinds.pop()(**params)
