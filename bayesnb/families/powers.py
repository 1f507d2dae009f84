"""Powers of a family's features, w: p(y = k | x) is proportional to p(k) prod_f p(x_f | k)^w_f."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array


class Powers:
    """A family with one power a column, or one if the block is one feature; ``Views`` has more."""

    one_feature: ClassVar[bool]
    term_sizes: Callable[[int], tuple[int, ...]]
    divergence: Callable[..., Array]
    left_out: Callable[..., Any]
    leave_one_out: Callable[..., Array]

    several_views: ClassVar[bool] = False
    """True if a fit without learned powers has powers other than one."""

    def num_powers(self, num_columns: int) -> int:
        """The number P of powers."""
        return 1 if self.one_feature else num_columns

    def start_powers(self, num_columns: int) -> Array:
        """The powers of a fit that has learned none, [P]."""
        return np.ones(self.num_powers(num_columns))

    def power_groups(self, num_columns: int) -> tuple[Array, ...]:
        """Multiples of ``start_powers`` [P] in each of G groups, which mean to one; a group learns powers by itself.

        The powers are then the mean over the groups, of which each leaves out the powers whose multiple is 0.
        """
        return (np.ones(self.num_powers(num_columns)),)

    def raise_terms(self, terms: Array, powers: Array, x: Array) -> Array:
        """The terms of rows x [N, K, F] raised to powers [P], or [1] for the whole block. Pure JAX."""
        del x
        return terms * jnp.asarray(powers)[None, None]

    def raised_tables(self, powers: Array) -> Any:
        """The tables from which ``predictive_scorer`` scores rows raised to powers, of several views. Pure JAX."""
        raise NotImplementedError

    def raise_divergence(self, params: Mapping[str, Array], k: int, powers: Array) -> Array:
        """``divergence`` of the terms raised to powers, [K, F]. Pure JAX."""
        found = self.divergence(params, k)
        sizes = self.term_sizes(powers.shape[0])
        return found * (powers if powers.shape[0] == 1 else jnp.repeat(powers, np.array(sizes)))[None]

    def leave_out_by_power(self, statistics: Any, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
        """``left_out`` by power, [N, K, P], each to be raised to its power."""
        return self.left_out(statistics, y, weight)

    def left_out_scores(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """What the block adds to log p(k | x) without the row, [N, K], up to what is alike for all classes."""
        return self.leave_one_out(statistics, x, y, weight)
