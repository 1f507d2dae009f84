"""The program's priors as conjugate ones: its log density at P points is regressed on the terms of a conjugate prior.

A prior in whatever disguise is conjugate exactly if nothing remains, and the coefficients are its hyperparameters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from bayesnb.model.links import LINKS, Part, log_slope
from bayesnb.recognition.matching import Values
from bayesnb.recognition.points import Latent

TOLERANCE = 1e-8


class Fed(NamedTuple):
    """A canonical site and what feeds it: its parts, and for each of its units the source and the source's unit."""

    name: str
    values: Values
    parts: tuple[Part, ...]
    sources: Any
    units: Any


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
    return {name: _as_first(np.asarray(value)) for name, value in found.items()}, good & np.asarray(valid)


def _as_first(values: Any) -> Any:
    """Hyperparameters that are those of the first class but for rounding are exactly these."""
    return (
        np.where(np.isclose(values, values[:1], rtol=1e-9, atol=1e-12), values[:1], values) if values.ndim else values
    )


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
    good = np.isfinite(density).all(axis=1) & (np.abs(rest).max(axis=1) <= TOLERANCE * size)
    return (solution / scale[:, 0])[:, :-1].T, good
