"""Random values well inside a prior's support and at its own scale, where densities keep their digits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.recognition.missing_cells import base_of

NARROWEST = 1e-3
"""The least spread of values relative to their size: elements must differ beyond rounding."""


def draw_inside(law: Any, key: Any, sample_shape: tuple[int, ...]) -> Any:
    """A value of the site whose distribution is ``law``."""
    inside = dist.biject_to(law.support)
    shape = inside.inverse_shape(law.shape(sample_shape))
    return _at_scale_of(base_of(law), inside(jax.random.uniform(key, shape, minval=-1.2, maxval=1.2)))


def _at_scale_of(law: Any, value: Any) -> Any:
    """The value, about one in size, moved to where the prior has its mass."""
    middle = _middle(law)
    if middle is None:
        return value
    if law.support is constraints.positive:
        return value * jnp.where((middle > 0) & jnp.isfinite(middle), middle, 1.0)
    if law.support in (constraints.real, constraints.real_vector):
        width = jnp.sqrt(law.variance) if hasattr(law, "loc") else jnp.ones_like(middle)
        width = jnp.maximum(jnp.where(jnp.isfinite(width), width, 1.0), NARROWEST * jnp.abs(middle))
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
