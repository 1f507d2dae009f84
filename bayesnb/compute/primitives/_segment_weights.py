"""The weights of segments of bins whose probabilities are Dirichlet, of all rows and without each row in turn.

They are numpy's for numpy arrays: a trace with JAX's form has so much work that it would be compiled, for each number
of columns, and the sums over segmentations with it: of 57 columns those take 6 ms by numpy and 51 by JAX, and a fit is
to take 50. Leave-one-out of rows of different weights is a compiled loop: 5,000 rows of 57 columns take 6 s by it, and
minutes by the general way of a family, which sums over all segmentations for each row.
"""

from __future__ import annotations

from math import lgamma, log, log1p, prod

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._loops import compiled, in_threads, part_of_loops, row_blocks
from bayesnb.compute.arrays._own_primitives import Shape, remembered, with_host_body
from bayesnb.compute.arrays._placement import Array, varying_as
from bayesnb.compute.numerics._stable import log_gamma_ratio


def segment_sums(bins: Array) -> Array:
    """Sums over the bins from i to j >= i, [..., G, G]; added up from i, not subtracted."""
    size = bins.shape[-1]
    later = jnp.triu(jnp.ones((size, size), bool))
    return jnp.cumsum(jnp.where(later, bins[..., None, :], 0.0), axis=-1)


def _on_host(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    front, (num_columns, size), num_totals = mass.shape[:-2], mass.shape[-2:], totals.shape[-2]
    q, c, a = (np.asarray(x, np.float64).reshape(prod(front), *x.shape[len(front) :]) for x in (mass, counts, totals))
    weights, rest = np.empty((len(q), num_totals, num_columns, size, size)), np.empty((len(q), num_totals, num_columns))

    def fill(part: tuple[int, slice]) -> None:
        table, some = part
        found = interpret(_of_columns, q[table, some], c[table][:, some], a[table][:, some])
        weights[table][:, some], rest[table][:, some] = found

    blocks = row_blocks(num_columns, 8 * num_totals * size * size, block_bytes=limits.IN_CACHE)
    in_threads(fill, [(table, block) for table in range(len(q)) for block in blocks])
    return weights.reshape(*front, *weights.shape[1:]), rest.reshape(*front, *rest.shape[1:])


def _shapes(mass: Shape, _: Shape, totals: Shape) -> tuple[Shape, Shape]:
    return (*totals, mass[-1], mass[-1]), totals


@with_host_body(remembered(_on_host), _shapes)
def segment_weights(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    """log prod_k Gamma(A q + c_k) / (Gamma(A q) (q (A + n_k))^c_k) of segments, [..., A, D, G, G], and the rest,
    log prod_k Gamma(A) (A + n_k)^n_k / Gamma(A + n_k), [..., A, D].

    ``mass`` [..., D, G] and ``counts`` [..., K, D, G] of bins are added up over the bins from i to j, n_k over all;
    ``totals`` A are [..., A, D]. In units of what all rows are worth, A + n_k, nothing large is left to cancel.
    """
    of_all = jnp.vectorize(_of_columns, signature="(d,g),(k,d,g),(a,d)->(a,d,g,g),(a,d)")
    found: tuple[Array, Array] = of_all(mass, counts, totals)
    return found


def _of_columns(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    size = mass.shape[-1]
    ends = np.triu_indices(size)
    q, total = segment_sums(mass)[None, :, *ends], totals[:, :, None]
    q = jnp.where(q > 0, q, 1.0)

    def add(sums: tuple[Array, Array], of_class: Array) -> tuple[tuple[Array, Array], None]:
        rows = of_class.sum(axis=-1)[None]
        unit = total + rows[..., None]
        segment = log_gamma_ratio(total * q, segment_sums(of_class)[None, :, *ends], q * unit)
        whole = log_gamma_ratio(total[..., 0], rows, unit[..., 0])
        return (sums[0] + segment, sums[1] - whole), None

    shape, kind = totals.shape, jnp.result_type(mass, float)
    start = jnp.zeros((*shape, len(ends[0])), kind), jnp.zeros(shape, kind)
    weights, rest = jax.lax.scan(add, varying_as(start, mass, counts, totals), jnp.asarray(counts, kind))[0]
    return jnp.zeros((*shape, size, size), kind).at[:, :, *ends].set(weights), rest


@part_of_loops
def _log_ratio(a: float, x: float, unit: float) -> float:
    """``log_gamma_ratio`` of numbers."""
    top = a + x
    if top < 16.0:  # log-gammas have all digits
        return lgamma(top) - lgamma(a) - x * log(unit)
    base, logs, step = a, 0.0, x
    if a < 8.0:
        product = 1.0
        for m in range(8):
            product *= a + m
        base, step = a + 8.0, x - 8.0
        logs = log(product) - 8.0 * log(unit)
    logs += (base - 0.5) * log1p(step / base) + step * (log(top / unit) - 1.0)
    x, y = 1.0 / top, 1.0 / base
    u, v = x * x, y * y
    logs += x * (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u / 1188))))
    return logs - y * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v / 1188))))


def left_out_logs(bins: Array, y: Array, weight: Array, parts: tuple[Array, Array, Array, Array]) -> Array:
    """log p(bin | k, all rows but this one) of numpy rows [N, D], averaged over segments and totals, [N, K, D].

    ``bins`` are codes, negative where missing: 0 there. ``parts`` are ``mass`` [D, G], ``counts`` [K, D, G] of all
    rows, the totals [A, D], and the log of the posterior probability of each segment and total, [A, D, G, G].
    """
    mass, counts, totals, log_share = (np.ascontiguousarray(part, np.float64) for part in parts)
    rows = np.asarray(y, np.int64), np.asarray(weight, np.float64)
    out = np.zeros((len(bins), len(counts), len(mass)))
    _leave_out(np.ascontiguousarray(bins, np.int64), *rows, mass, counts, totals, log_share, out)
    return out


ROUNDINGS = 4.0 * float(np.finfo(np.float64).eps)
"""What is left of a count is 0 if it is only its rounding error."""


@compiled
def _leave_out(
    bins: Array, y: Array, weight: Array, mass: Array, counts: Array, totals: Array, log_share: Array, out: Array
) -> None:
    """Without the row the probability of a segment that holds its bin changes by 1 / p(row | segment, other rows).

    Those of other segments change alike, and they have no say in the bin. So a row costs the segments of its bin; one
    of weight 1, whose p is a ratio of counts, costs a division each.
    """
    num_classes, num_columns, size = counts.shape
    q, inside, rows = np.empty((size, size)), np.empty((size, size, num_classes)), np.empty(num_classes)
    shares, starts, logs = np.empty((3, totals.shape[0], size, size))
    above, sums = np.empty((2, num_classes))
    for d in range(num_columns):
        for i in range(size):
            for j in range(i, size):
                q[i, j] = mass[d, j] + (q[i, j - 1] if j > i else 0.0)
                for k in range(num_classes):
                    inside[i, j, k] = counts[k, d, j] + (inside[i, j - 1, k] if j > i else 0.0)
                for a in range(totals.shape[0]):
                    shares[a, i, j] = np.exp(log_share[a, d, i, j])
        for k in range(num_classes):
            rows[k] = inside[0, size - 1, k]
        for n in range(bins.shape[0]):
            g, own, w, top = bins[n, d], y[n], weight[n], -np.inf
            if g < 0 or mass[d, g] == 0.0:
                continue
            rest = rows[own] - w
            rest = rest if rest > ROUNDINGS * rows[own] else 0.0
            for a in range(totals.shape[0]):
                whole = 0.0 if w == 1.0 else _log_ratio(totals[a, d] + rest, w, totals[a, d] + rows[own])
                for i in range(g + 1):
                    for j in range(g, size):
                        left = inside[i, j, own] - w
                        left = left if left > ROUNDINGS * inside[i, j, own] else 0.0
                        starts[a, i, j] = totals[a, d] * q[i, j] + left
                        if w != 1.0:
                            ratio = _log_ratio(starts[a, i, j], w, q[i, j] * (totals[a, d] + rows[own]))
                            logs[a, i, j] = log_share[a, d, i, j] + whole - ratio
                            top = max(top, logs[a, i, j])
            below, of_own, above[:] = 0.0, 0.0, 0.0
            for a in range(totals.shape[0]):
                prior, sums[:] = 0.0, 0.0
                for i in range(g + 1):
                    for j in range(g, size):
                        if w == 1.0:
                            share = shares[a, i, j] * (totals[a, d] + rest) / starts[a, i, j]
                        else:
                            share = np.exp(logs[a, i, j] - top) / q[i, j]
                        below += share * q[i, j]
                        of_own += share * starts[a, i, j] / (totals[a, d] + rest)
                        prior += share * totals[a, d] * q[i, j]
                        for k in range(num_classes):
                            sums[k] += share * inside[i, j, k]
                for k in range(num_classes):
                    above[k] += (prior + sums[k]) / (totals[a, d] + rows[k])
            above[own] = of_own
            for k in range(num_classes):
                out[n, k, d] = log(mass[d, g] * above[k] / below)
