"""The class prior times what the blocks say."""

from __future__ import annotations

from functools import reduce

import jax
import jax.numpy as jnp

from bayesnb import special
from bayesnb.arrays import Array, as_array, finalise
from bayesnb.log_prob import LogProb


@jax.jit
def _class_weights(probs: Array) -> LogProb:
    return LogProb(special.safe_log(jnp.asarray(probs)), jnp.asarray(probs) == 0)


def joint(probs: Array, parts: list[LogProb]) -> LogProb:
    """log pi_k plus the blocks. A class of probability zero is less possible than any combination of features."""
    weights = finalise(_class_weights, as_array(probs))
    rows = reduce(LogProb.times, parts)
    never = 1e9 * weights.zeros[None, :]
    return LogProb(rows.finite + weights.finite[None, :], rows.zeros + never)
