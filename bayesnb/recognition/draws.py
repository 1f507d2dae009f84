"""Random values of latents at their priors' own scales: well inside the supports, or far out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.recognition.missing_cells import base_of

NARROWEST = 1e-3
"""The least spread of values relative to their size: elements must differ beyond rounding."""


FAR = 10.0
"""How far out values go in unconstrained space: probabilities to 5e-5 from their ends, reals to ten deviations."""

CORNERS = np.array([(-FAR, FAR), (-4.0, -4.0), (4.0, 4.0), (FAR, -FAR)])
"""How far out numbers with an end to their support are, and reals: means are far where scales are small, too."""


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
