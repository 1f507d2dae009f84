"""The program's priors: as conjugate ones, or carried over to the model's parameters by a change of variables.

A program's log density at P points is regressed on the terms of a conjugate prior. A prior in whatever disguise is
conjugate exactly if nothing remains, and the coefficients are its hyperparameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms

from bayesnb.core.families.parts._links import LINKS, ChangedDistribution, log_slope
from bayesnb.recognition._class_parameters import same
from bayesnb.recognition._matching import Fed, Matches
from bayesnb.recognition._observed_blocks import Block
from bayesnb.recognition._points import Latent
from bayesnb.recognition._reading import Reading
from bayesnb.recognition._user_program import NotNaiveBayes, value_inside


def conjugate_prior(
    fed: Fed, latents: dict[str, Latent], terms: tuple[Any, ...], prior_of: Any
) -> tuple[dict[str, Any], Any]:
    """The hyperparameters [*units], and where the prior is conjugate.

    ``terms`` are the terms of the conjugate prior, each [P, *units]; ``prior_of`` gives hyperparameters from
    coefficients [F, *units].
    """
    shape = fed.values.shape[: len(fed.values.shape) - fed.values.event]
    exact = _dirichlet(fed, latents)
    if exact is not None:
        coefficients, good = np.moveaxis(exact - 1.0, -1, 0), np.ones(shape, bool)
    else:
        density = _log_density(fed, latents, terms)
        coefficients, good = _regress(np.stack([_units(term) for term in terms], axis=-1), density)
        coefficients, good = coefficients.reshape(-1, *shape), good.reshape(shape)
    with np.errstate(all="ignore"):
        found, valid = prior_of(jnp.asarray(coefficients))
    for name, value in found.items():  # those of the first class but for rounding are exactly these
        first = value[:1] if np.ndim(value) else value
        found[name] = np.where(np.isclose(value, first, rtol=1e-9, atol=1e-12), first, value)
    return found, good & np.asarray(valid)


def _units(term: Any) -> Any:
    term = np.asarray(term)
    return term.reshape(len(term), -1).T  # [U, P]


def _log_density(fed: Fed, latents: dict[str, Latent], terms: tuple[Any, ...]) -> Any:
    """The log density of each unit as a function of the canonical parameter, [U, P]."""
    names = list(dict.fromkeys(part.source for part in fed.parts))
    density = np.zeros((len(fed.units), len(fed.values.values)))
    for name in names:
        of_source = latents[name].log_prob.reshape(len(fed.values.values), -1)
        mine = fed.sources == names.index(name)
        density[mine] = of_source[:, fed.units[mine]].T
    for part in fed.parts:
        link = LINKS[part.link]
        if any(link.powers) or link.constant != 1.0:
            units = np.unique(part.placed.values // fed.values.unit)
            logs = tuple(_units(term)[units] for term in terms[: len(link.powers)])
            density[units] -= log_slope(link, logs, part.size)
    return density


def _dirichlet(fed: Fed, latents: dict[str, Latent]) -> Any:
    """The concentrations [*units, C] if every unit is a row of a Dirichlet, else None."""
    flat = np.full(int(np.prod(fed.values.shape)), np.nan)
    if fed.values.event != 1:
        return None
    for part in fed.parts:
        given = latents[part.source].concentration
        if given is None or part.link != "identity":
            return None
        given = given.reshape(len(given), -1)[:, part.taken.values]
        if not (given == given[:1]).all():
            return None
        flat[part.placed.values] = given[0]
    return flat.reshape(fed.values.shape)


def _regress(terms: Any, density: Any) -> tuple[Any, Any]:
    """The coefficients [F, U] of density [U, P] on terms [U, P, F] and a constant, and whether nothing remains, [U]."""
    design = np.concatenate([terms, np.ones((*density.shape, 1))], axis=-1)
    scale = np.abs(design).max(axis=1, keepdims=True) + 1e-300
    q, r = np.linalg.qr(design / scale)
    with np.errstate(all="ignore"):
        solution = np.einsum("ufg,ug->uf", np.linalg.pinv(r), np.einsum("upf,up->uf", q, density))
    rest = density - np.einsum("upf,uf->up", design / scale, solution)
    size = 1.0 + np.abs(density).max(axis=1) + np.abs(solution).max(axis=1)
    good = np.isfinite(density).all(axis=1) & (np.abs(rest).max(axis=1) <= 1e-8 * size)
    return (solution / scale[:, 0])[:, :-1].T, good


Priors = Mapping[str, list[Any]]
"""By latent, its distribution at several points of the latents."""


class Setting(NamedTuple):
    """Points with one value of all hyperparameters: the latents there, and the model's own parameters by site."""

    latents: dict[str, Latent]
    canonical: dict[str, Any]


def covers(fed: Fed, priors: Priors, latents: Mapping[str, Latent], support: Any) -> bool:
    """Whether the latents reach the whole support of the canonical site; Uniform(0.2, 0.8) does not."""
    # of a simplex of two, one number
    far = dist.biject_to(constraints.unit_interval if support.event_dim else support)(jnp.array([[-30.0], [30.0]]))
    for part in fed.parts:
        prior, values = priors[part.source][0], latents[part.source].values[:1]
        if prior.event_dim:
            continue  # a simplex, or positive definite
        ends = np.repeat(values.reshape(1, -1), 2, axis=0)
        ends[:, part.taken.values] = part.through(np.broadcast_to(far, (2, len(part.taken.values))), inverse=True)
        if not prior.support(ends.reshape(2, *values.shape[1:])).all():
            return False
    return True


def own_prior(fed: Fed, latents: Mapping[str, Latent], priors: Priors, site: str) -> dist.Distribution:
    """The distribution of the canonical site, by draw of it."""
    names, links = list(dict.fromkeys(part.source for part in fed.parts)), {part.link for part in fed.parts}
    what = f"the prior of {', '.join(repr(name) for name in names)}, a parameter of site {site!r},"
    for name in names:
        first, second = priors[name]
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
    known = [priors[name][0] for name in names]
    if links <= {"expit", "expit of minus"} and fed.values.event == 1 and known[0].support is constraints.real:
        return _prior_of_two_classes(fed, known[0])
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
        return known[0]
    prior = _arrange(fed, known, [latents[name].log_prob.shape[1:] for name in names], what)
    changes = [] if link is LINKS["identity"] else [link.transform]
    if any(part.scale for part in fed.parts):
        shift, scale = _constants(fed)
        if prior.support is not constraints.real and (np.sign(scale) != np.sign(scale.ravel()[0])).any():
            raise NotNaiveBayes(f"{what} is not conjugate, and is used with both signs: use one for all")
        changes = [transforms.AffineTransform(shift, scale), *changes]
    return ChangedDistribution(prior, changes) if changes else prior


def by_quadrature(block: Block, matches: Matches, latents: Mapping[str, Latent]) -> Any:
    """The block's likelihood, whose arguments have the program's own priors or are numbers."""
    arguments: dict[str, Any] = {}
    for short, values in block.known.items():
        if (values != values.flat[0]).any():
            raise NotNaiveBayes(
                f"site {block.site!r} has a known {short} that is not one number: give classes and columns the same "
                "one, each column a site of its own, or a prior"
            )
        arguments[short] = float(values.flat[0])
    for short in block.params:
        fed = matches.fed[block.canonical(short)]
        if not covers(fed, matches.priors, latents, block.reading.support(short)):
            raise NotNaiveBayes(
                f"site {block.site!r}: the prior of its {short} leaves a part of its support out, where an integral "
                "has an edge: give a prior of the whole support"
            )
        arguments[short] = own_prior(fed, latents, matches.priors, block.site)
    try:
        return block.reading.make(arguments)
    except ValueError as error:
        raise NotNaiveBayes(f"site {block.site!r} is observed, and cannot be integrated: {error}") from error


def _prior_of_two_classes(fed: Fed, prior: Any) -> dist.Distribution:
    sign = next(-1.0 if part.link == "expit of minus" else 1.0 for part in fed.parts if 0 in part.placed.values)
    shift, scale = (sign * constant[0] for constant in _constants(fed))
    # for two classes, the first part of the stick is expit
    changes = [transforms.AffineTransform(shift, scale), transforms.StickBreakingTransform()]
    return dist.TransformedDistribution(prior.expand([1]).to_event(1), changes)


def _constants(fed: Fed) -> Any:
    """The shift and the scale of every element of the canonical site."""
    found = np.stack([np.zeros(fed.values.shape).ravel(), np.ones(fed.values.shape).ravel()])
    for part in fed.parts:
        found[:, part.placed.values] = [part.shift or (0.0,), part.scale or (1.0,)]
    return found.reshape(2, *fed.values.shape)


def _arrange(fed: Fed, priors: list[Any], batches: list[tuple[int, ...]], what: str) -> Any:
    """The prior of every draw of the canonical site: of numbers that all have, or with parameters of its shape."""
    kinds = {type(prior) for prior in priors}
    if len(kinds) > 1:
        raise NotNaiveBayes(
            f"{what} is not conjugate, and mixes {', '.join(sorted(kind.__name__ for kind in kinds))}: only one "
            "distribution for all classes and columns is recognised, such as a prior by class with its parameters"
        )
    in_order = batches[0] == fed.values.shape and np.array_equal(fed.units, np.arange(len(fed.units)))
    if len(priors) == 1 and (in_order or not priors[0].batch_shape):
        return priors[0]
    names = [name for name in priors[0].arg_constraints if getattr(priors[0], name, None) is not None]
    values = [{name: np.asarray(getattr(prior, name)) for name in names} for prior in priors]
    # a truncated or transformed distribution is more than its own parameters
    if not names or set(inspect.signature(type(priors[0])).parameters) - {*names, "validate_args"}:
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


def conjugate_priors(
    matches: Matches, settings: list[Setting], name: str, reading: Reading, short: str, terms: Any
) -> dict[str, list[Any]] | None:
    """The hyperparameters of a site, a family's ``short`` one, under each setting; None if its prior is not conjugate.

    ``terms`` are those of the family's prior, a function of the canonical sites.
    """
    fed, found = matches.fed[name], []
    if not covers(fed, matches.priors, matches.points.latents, reading.support(short)):
        return None
    for latents, canonical in settings:
        fed = fed._replace(values=fed.values._replace(values=canonical[name]))
        values, good = conjugate_prior(fed, latents, terms(canonical), partial(reading.prior_of, short))
        if not good.all():
            return None
        found.append(values)
    return {field: [values[field] for values in found] for field in found[0]}


def known_or_hyper(
    matches: Matches, settings: list[Setting], given: list[Any], site: str, hyper: dict[str, str]
) -> Any:
    """A hyperparameter's value, or the distribution of the latent that it is under every setting."""
    if all(np.allclose(value, given[0], rtol=1e-7, atol=1e-9) for value in given):
        return given[0]
    for name in matches.hyper:
        values = [latents[name].values[0] for latents, _ in settings]
        prior, batch, shape = matches.priors[name], np.shape(values[0]), np.shape(given[0])
        fits = len(batch) <= len(shape) and all(n in (1, m) for n, m in zip(batch[::-1], shape[::-1], strict=False))
        if not fits or prior[0].event_dim or name in hyper:
            continue
        pairs = zip(values, given, strict=True)
        if not all(np.allclose(value, np.broadcast_to(v, np.shape(value)), rtol=1e-6) for v, value in pairs):
            continue
        inside = value_inside(prior[0])
        if np.allclose(prior[0].log_prob(inside), prior[1].log_prob(inside), rtol=1e-12):
            hyper[name] = site
            return prior[0].expand(batch) if batch else prior[0]
    raise NotNaiveBayes(
        f"the hyperparameter {site!r} depends on {', '.join(map(repr, matches.hyper))}: a hyperprior is recognised "
        "where a latent is itself one hyperparameter, and its own prior depends on nothing"
    )
