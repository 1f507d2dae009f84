"""Powers of a family's terms: one a column, or one if the block is one feature; of V views V a column, [V D].

With powers w, p(y = k | x) is proportional to p(k) prod_f p(x_f | k)^w_f. A family's ``shares`` say where they begin.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family


def num_powers(family: Family, num_columns: int) -> int:
    """The number P of powers."""
    return len(family.shares[0]) * (1 if family.one_feature else num_columns)


def start_powers(family: Family, num_columns: int) -> Array:
    """The powers of a fit that has learned none, [P]."""
    return np.repeat(np.mean(family.shares, axis=0), 1 if family.one_feature else num_columns)


def power_groups(family: Family, num_columns: int) -> Array:
    """Multiples of ``start_powers`` in each of G groups, [G, P], which mean to one; a group learns powers by itself.

    The powers are then the mean over the groups, of which each leaves out the powers whose multiple is 0.
    """
    multiples = np.array(family.shares) / np.mean(family.shares, axis=0)
    return np.repeat(multiples, 1 if family.one_feature else num_columns, axis=1)


def by_view(family: Family, powers: Array) -> Array:
    """The powers of each view's columns, [V, D], or [V, 1] from one power of the whole block. Pure JAX."""
    powers = jnp.asarray(powers)
    if powers.shape[0] == 1:
        return powers[None] * np.mean(family.shares, axis=0)[:, None]
    return powers.reshape(len(family.shares[0]), -1)
