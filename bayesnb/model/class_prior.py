"""The class prior times the likelihood of the blocks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compute import compute
from bayesnb.arrays.placement import Array, as_array, namespace, on_host
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.numerics import stable
from bayesnb.numerics.log_prob import NO_CLASS, LogProb
from bayesnb.primitives.scoring import Score


@jax.jit
def _class_log_probs(probs: Array) -> LogProb:
    return LogProb(stable.safe_log(jnp.asarray(probs)), jnp.asarray(probs) == 0)


def joint(probs: Array, parts: list[LogProb]) -> LogProb:
    """log pi_k plus the blocks. A class of probability zero ranks below any combination of impossible features."""
    rows = reduce(LogProb.times, parts)
    if on_host(probs, rows) and np.all(probs):
        return LogProb(_add_by_blocks(rows.finite, np.log(probs)), rows.zeros)
    log_probs = compute(_class_log_probs, as_array(probs))
    if on_host(log_probs) and not log_probs.zeros.any():  # under jit, XLA would take seconds to fold a table of zeros
        return rows.times(LogProb(log_probs.finite[None, :], None))
    never = namespace(rows.finite).broadcast_to(NO_CLASS * log_probs.zeros[None, :], rows.finite.shape)
    return rows.times(LogProb(log_probs.finite[None, :], never))


def joint_score(probs: Array, scores: Mapping[str, Score]) -> Score:
    """The ``joint`` of rows by block, given the score of each block."""
    return lambda arrays: joint(probs, [score(arrays[block]) for block, score in scores.items()])


def _add_by_blocks(table: Array, log_probs: Array) -> Array:
    """table + log_probs [K] on the host, in threads."""
    out = np.empty(table.shape)
    blocks = row_blocks(len(table), table.itemsize * table.shape[1])
    in_threads(lambda rows: np.add(table[rows], log_probs, out=out[rows]), blocks)
    return out
