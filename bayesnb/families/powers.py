"""Powers of a family's terms: one a column, or one if the block is one feature; of V views V a column, [V D].

With powers w, p(y = k | x) is proportional to p(k) prod_f p(x_f | k)^w_f. ``shares`` say where they begin.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family


@singledispatch
def shares(family: Any) -> tuple[tuple[float, ...], ...]:
    """The powers with which the terms of a feature begin, in each group that learns its powers by itself, [G][V].

    Those of a fit are their mean over groups. ``Views`` have several terms.
    """
    del family
    return ((1.0,),)


def num_powers(family: Family, num_columns: int) -> int:
    """The number P of powers."""
    return len(shares(family)[0]) * (1 if family.one_feature else num_columns)


def start_powers(family: Family, num_columns: int) -> Array:
    """The powers of a fit that has learned none, [P]."""
    return np.repeat(np.mean(shares(family), axis=0), 1 if family.one_feature else num_columns)


def power_groups(family: Family, num_columns: int) -> Array:
    """Multiples of ``start_powers`` in each of G groups, [G, P], which mean to one; a group learns powers by itself.

    The powers are then the mean over the groups, of which each leaves out the powers whose multiple is 0.
    """
    multiples = np.array(shares(family)) / np.mean(shares(family), axis=0)
    return np.repeat(multiples, 1 if family.one_feature else num_columns, axis=1)


def by_view(family: Family, powers: Array) -> Array:
    """The powers of each view's columns, [V, D], or [V, 1] from one power of the whole block. Pure JAX."""
    powers = jnp.asarray(powers)
    if powers.shape[0] == 1:
        return powers[None] * np.mean(shares(family), axis=0)[:, None]
    return powers.reshape(len(shares(family)[0]), -1)
