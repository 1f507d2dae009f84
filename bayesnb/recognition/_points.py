"""The program at random points of its latents: their values and densities, and the parameters of every cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.core.families._base import Family
from bayesnb.recognition._mapped_readings import OfMapped, unmapped
from bayesnb.recognition._reading import Quadrature, Reading, names_of_likelihoods, reading_of
from bayesnb.recognition._user_program import (
    FROM_ZERO,
    NO_LABEL,
    SUMMED_OUT,
    NotNaiveBayes,
    Program,
    Trace,
    base_of,
    mask_of,
    numbers,
)


@dataclass
class Latent:
    """A latent site at P points: ``values`` [P, *shape], ``log_prob`` [P, *batch], one for each of its draws."""

    event: int
    values: Any
    log_prob: Any
    concentration: Any = None
    """Of a Dirichlet, else None."""


@dataclass
class Observed:
    """An observed site: how its family is read, and ``params`` [P, N, ...] of its cells by short name."""

    reading: Reading
    value: Any
    params: dict[str, Any]
    totals: Any
    mask: Any
    """Which cells count; None if all do."""
    latent_cells: bool = False
    """Whether the others are latents of ``obs_mask``."""


@dataclass
class Points:
    """The program at P points of its latents, under one labelling of its rows."""

    latents: dict[str, Latent]
    observed: dict[str, Observed]
    label: np.ndarray[Any, Any] | None
    """The label's probabilities [P, K, ...], or None if the program has no site of the label."""


def evaluate(program: Program, keys: Any, label: Mapping[str, Any], values: Mapping[str, Any]) -> Points:
    """The program at the points that ``keys`` [P] draw.

    ``label`` has the value of the label's site, and ``values`` those of latents, [P, ...].
    """
    static: dict[str, Points] = {}

    def at(key: Any, values: Any) -> Any:
        points = static["of"] = _read(program.trace({**label, **values}, key), program.label)
        latents = {n: (s.values, s.log_prob, s.concentration) for n, s in points.latents.items()}
        observed = {n: (s.params, s.value, s.totals, s.mask) for n, s in points.observed.items()}
        return latents, observed, points.label

    latents, observed, probs = numbers(jax.vmap(at), keys, dict(values))
    run = static["of"]  # has the sites in the program's order
    return Points(
        {name: Latent(site.event, *latents[name]) for name, site in run.latents.items()},
        {name: _gather(name, site, *observed[name]) for name, site in run.observed.items()},
        probs,
    )


def _gather(name: str, run: Observed, params: Any, *data: Any) -> Observed:
    """The site with its parameters at all points, and its cells, totals and mask, which must be the same at all."""
    for array in data:
        if array is not None and not np.array_equal(array, np.broadcast_to(array[:1], array.shape), equal_nan=True):
            raise NotNaiveBayes(
                f"site {name!r} has other cells or another mask in a second run: they must not depend on latents, on "
                "global state, or on random draws of the program's own"
            )
    value, totals, mask = (None if array is None else array[0] for array in data)
    mask = None if mask is None or mask.all() else mask
    site = Observed(run.reading, value, params, totals, mask, run.latent_cells)
    if (np.isnan(site.value) & (True if mask is None else _on_draws(mask, value))).any():
        raise NotNaiveBayes(
            f"site {name!r} observes NaN: leave missing cells out by a mask, such as obs_mask=~jnp.isnan(X)"
        )
    return site


def cells_of(site: dict[str, Any]) -> Any:
    """The value of an observed site, NaN where its mask leaves it out."""
    value, mask = jnp.asarray(site["value"]), mask_of(site)
    return value if mask is None else jnp.where(_on_draws(mask, value), value.astype(float), jnp.nan)


def _on_draws(mask: Any, value: Any) -> Any:
    return np.reshape(mask, np.shape(mask) + (1,) * (value.ndim - np.ndim(mask)))


def _read(trace: Trace, label: str) -> Points:
    latents: dict[str, Latent] = {}
    observed: dict[str, Observed] = {}
    label_probs = None
    for name, site in trace.items():
        if site["type"] != "sample":
            continue
        _refuse_scale_and_mask(name, site, label)
        if name == label:
            label_probs = _label_probs(name, site)
        elif site["is_observed"]:
            observed[name] = read_cells(name, site)
        elif site["fn"].support.is_discrete:
            raise NotNaiveBayes(
                f"site {name!r} is discrete and not observed: give a feature its data; a discrete latent, as in a "
                f"mixture, is not recognised; where it is the label of other rows, {NO_LABEL}"
            )
        else:
            fn, value = base_of(site["fn"]), jnp.asarray(site["value"])
            event, is_dirichlet = fn.event_dim, isinstance(fn, dist.Dirichlet)
            density = jnp.broadcast_to(fn.log_prob(value), value.shape[: value.ndim - event])
            concentration = jnp.broadcast_to(fn.concentration, value.shape) if is_dirichlet else None
            latents[name] = Latent(event, value, density, concentration)
    return Points(latents, observed, label_probs)


def _refuse_scale_and_mask(name: str, site: dict[str, Any], label: str) -> None:
    scale, of_rows = site.get("scale"), name == label or site["is_observed"]
    if scale is not None and not (isinstance(scale, int | float) and scale == 1):
        instead = (
            "give weights of rows to the fit as sample_weight, for label and features alike"
            if of_rows
            else "write the prior that this power of it is"
        )
        raise NotNaiveBayes(f"site {name!r} has handlers.scale, which is not part of a model: {instead}")
    if mask_of(site) is not None and (name == label or not of_rows):
        raise NotNaiveBayes(f"site {name!r} has a mask: only observed features may have one, for missing cells")


def _label_probs(name: str, site: dict[str, Any]) -> Any:
    fn, value = base_of(site["fn"]), jnp.asarray(site["value"])
    if isinstance(fn, dist.CategoricalProbs | dist.CategoricalLogits):
        probs = fn.probs
    elif isinstance(fn, dist.BernoulliProbs | dist.BernoulliLogits):
        probs = jnp.stack([1.0 - fn.probs, fn.probs], axis=-1)
    elif isinstance(fn, dist.DiscreteUniform):
        low, high = int(np.min(fn.low)), int(np.max(fn.high))
        if low or np.min(fn.high) < high or np.max(fn.low) > low:
            raise NotNaiveBayes(f"site {name!r}, the label, is a DiscreteUniform from {low} to {high}: {FROM_ZERO}")
        probs = jnp.full((1, high + 1), 1.0 / (high + 1))
    else:
        raise NotNaiveBayes(
            f"site {name!r}, the label, is a {type(fn).__name__}: it must be Categorical, DiscreteUniform from 0, or "
            "Bernoulli for two classes"
        )
    _require_terms(name, site, value.size)
    return probs.reshape(-1, probs.shape[-1])


def _require_terms(name: str, site: dict[str, Any], size: int) -> None:
    """Refuse a site whose density has more terms than its value has rows."""
    fn, value = site["fn"], site["value"]
    with np.errstate(all="ignore"):
        shape = np.broadcast_shapes(fn.batch_shape, np.shape(value)[: np.ndim(value) - fn.event_dim])
    terms = int(np.prod(shape))
    event = int(np.prod(np.shape(value)[np.ndim(value) - fn.event_dim :]))
    if terms * event > size:
        raise NotNaiveBayes(
            f"site {name!r} has a value of shape {np.shape(value)} in a distribution of shape {fn.batch_shape}, so "
            f"that each value counts {terms * event // size} times: make both shapes the same"
        )


def read_cells(name: str, site: dict[str, Any]) -> Observed:
    """How an observed site is read, and its parameters by cell."""
    fn, value = base_of(site["fn"]), site["value"]
    base, transform = unmapped(fn)
    readings: list[Any] = [*map(reading_of, Family.known.values()), Quadrature(type(base))]
    readings = [OfMapped(reading, transform) for reading in readings] if transform else readings
    try:
        found = [(reading, params) for reading in readings if (params := reading.params(fn)) is not None]
    except jax.errors.TracerBoolConversionError as error:  # of a trace, or of a bound that latents have
        kind = type(fn).__name__
        raise NotNaiveBayes(f"site {name!r} is observed, and the support of its {kind} moves with latents") from error
    if not found:
        raise NotNaiveBayes(
            f"site {name!r} is observed, and a {type(fn).__name__} is not a likelihood of this package, which has "
            f"{names_of_likelihoods()}, and NumPyro's distributions of one number, an angle or a count with a fixed "
            f"support{SUMMED_OUT if type(fn).__name__.startswith('Mixture') else ''}"
        )
    _require_terms(name, site, int(np.size(value)))
    reading, params = found[0]
    batch = np.shape(value)[: np.ndim(value) - int(reading.family.one_feature)]
    full = {}
    for short, param in params.items():
        event = param.shape[param.ndim - reading.support(short).event_dim :]
        full[short] = jnp.broadcast_to(param, (*batch, *event))
    totals = getattr(fn, "total_count", None)
    totals = None if totals is None else jnp.broadcast_to(totals, batch)
    latent = bool(site["name"] != name)  # ``obs_mask`` made two sites of one
    return Observed(reading, value, full, totals, mask_of(site), latent)
