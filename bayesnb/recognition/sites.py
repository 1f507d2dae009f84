"""The distributions of sites: without their wrappers, which of their values count, and random values of latents.

Values lie at the priors' own scales: well inside the supports, or far out.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.recognition.refusals import NotNaiveBayes

WRAPPERS = (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)

NARROWEST = 1e-3
"""The least spread of values relative to their size: elements must differ beyond rounding."""

FAR = 10.0
"""How far out values go in unconstrained space: probabilities to 5e-5 from their ends, reals to ten deviations."""

CORNERS = np.array([(-FAR, FAR), (-4.0, -4.0), (4.0, 4.0), (FAR, -FAR)])
"""How far out numbers with an end to their support are, and reals: means are far where scales are small, too."""


def base_of(law: Any) -> Any:
    """The distribution without masks, and ``to_event`` and ``expand``, which change the meaning of axes only."""
    while isinstance(law, WRAPPERS):
        law = law.base_dist
    return law


def mask_of(site: dict[str, Any]) -> Any:
    """Which values of a site count, in the shape of the draws of its base distribution; None if all do."""
    law, found, event = site["fn"], None, base_of(site["fn"]).event_dim
    shape = np.shape(site["value"])[: np.ndim(site["value"]) - event]
    while isinstance(law, WRAPPERS):
        if isinstance(law, dist.MaskedDistribution):
            mask = jnp.broadcast_to(jnp.asarray(law._mask), law.batch_shape)
            mask = jnp.broadcast_to(mask.reshape(*mask.shape, *[1] * (law.event_dim - event)), shape)
            found = mask if found is None else found & mask
        law = law.base_dist
    seen = getattr(law, "seen", None)  # cells of vectors
    return found if seen is None else seen if found is None else seen & found[..., None]


def join_missing_cells(trace: dict[str, Any], label: str) -> dict[str, Any]:
    """The sites of a run, where ``obs_mask`` made two of one, with one masked site of the observed cells again.

    The other site has a latent for each missing cell. Nothing else may depend on them, so that their density
    integrates to one: a program where something does, differs between runs, which later checks refuse.
    """
    joined = dict(trace)
    for name, site in trace.items():
        observed, latent = (trace.get(f"{name}_{part}") for part in ("observed", "unobserved"))
        if site["type"] != "deterministic" or not (observed and latent and observed["is_observed"]):
            continue
        if name == label:
            raise NotNaiveBayes(
                f"site {name!r}, the label, has an obs_mask: example rows must have labels; leave the others out, and "
                "give them to fit_em"
            )
        joined[name] = observed
        del joined[f"{name}_observed"], joined[f"{name}_unobserved"]
    return joined


def value_inside(law: Any, sample_shape: tuple[int, ...] = ()) -> Any:
    """A value inside the support of a distribution."""
    inside = dist.biject_to(law.support)
    return inside(jnp.full(inside.inverse_shape(law.shape(sample_shape)), 0.3))


def draw_inside(law: Any, key: Any, sample_shape: tuple[int, ...]) -> Any:
    """A value of the site whose distribution is ``law``, where densities keep their digits."""
    inside = dist.biject_to(law.support)
    shape = inside.inverse_shape(law.shape(sample_shape))
    return _at_scale_of(base_of(law), inside(jax.random.uniform(key, shape, minval=-1.2, maxval=1.2)))


def draw_far(law: Any, key: Any, sample_shape: tuple[int, ...], corner: Any, *, widest: float) -> Any:
    """A value in one of the ``CORNERS``, where reals are at most ``FAR`` times the ``widest`` from their middle.

    The smallest number of a simplex is about 1e-4. Matrices stay inside: they lose their digits far out.
    """
    base = base_of(law)
    is_real = base.support in (constraints.real, constraints.real_vector)
    if base.support is constraints.simplex:
        ranks = jnp.linspace(0.0, 0.92, base.event_shape[0])
        ranks = jax.random.permutation(key, jnp.broadcast_to(ranks, law.shape(sample_shape)), axis=-1, independent=True)
        return jax.nn.softmax(corner[0] * ranks, axis=-1)
    if base.event_dim and not is_real:
        return draw_inside(law, key, sample_shape)
    free = dist.biject_to(law.support)
    spread = jax.random.uniform(key, free.inverse_shape(law.shape(sample_shape)), minval=0.9)
    return _at_scale_of(base, free(corner[int(is_real)] * spread), widest)


def _at_scale_of(law: Any, value: Any, widest: float = np.inf) -> Any:
    """The value, about one in size, moved to where the prior has its mass."""
    middle = _middle(law)
    if middle is None:
        return value
    if law.support is constraints.positive:
        return value * jnp.where((middle > 0) & jnp.isfinite(middle), middle, 1.0)
    if law.support in (constraints.real, constraints.real_vector):
        width = jnp.sqrt(law.variance) if hasattr(law, "loc") else jnp.ones_like(middle)
        width = jnp.maximum(jnp.where(jnp.isfinite(width), width, 1.0), NARROWEST * jnp.abs(middle))
        width = jnp.minimum(width, widest)
        return jnp.where(jnp.isfinite(middle), middle + width * value, value)
    if law.support is constraints.positive_definite:
        size = jnp.sqrt(jnp.diagonal(middle, axis1=-2, axis2=-1))
        return value * size[..., :, None] * size[..., None, :]
    return value


def _middle(law: Any) -> Any:
    """A central value of a distribution, None if it has none that is known."""
    if law.support is constraints.lower_cholesky:
        return law.scale_tril
    if not isinstance(law, dist.TransformedDistribution):
        try:
            return law.mean
        except NotImplementedError:
            return None
    middle = _middle(law.base_dist)
    for transform in law.transforms if middle is not None else ():
        middle = transform(middle)
    return middle
