"""The weights of segments of cells whose probabilities are Dirichlet, in float64 by a compiled loop, or by JAX."""

from __future__ import annotations

from math import lgamma, log, log1p, prod

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.host_bodies import with_host_body
from bayesnb.arrays.placement import Array
from bayesnb.numerics.log_gamma import log_gamma_ratio


def segment_sums(cells: Array) -> Array:
    """Sums over the cells from i to j >= i, [..., G, G]; added up from i, not subtracted."""
    size = cells.shape[-1]
    later = jnp.triu(jnp.ones((size, size), bool))
    return jnp.cumsum(jnp.where(later, cells[..., None, :], 0.0), axis=-1)


def _on_host(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    front, (num_columns, size), num_totals = mass.shape[:-2], mass.shape[-2:], totals.shape[-1]
    num_tables = prod(front)
    q, c, a = (
        np.ascontiguousarray(part, np.float64).reshape(num_tables, *part.shape[len(front) :])
        for part in (mass, counts, totals)
    )
    weights = np.zeros((num_tables, num_totals, num_columns, size, size))
    rest = np.zeros((num_tables, num_totals, num_columns))
    _add_logs(q, c, a, weights, rest)
    return weights.reshape(*front, *weights.shape[1:]), rest.reshape(*front, *rest.shape[1:])


@with_host_body(_on_host)
def segment_weights(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    """log prod_k Gamma(A q + c_k) / (Gamma(A q) (q (A + n_k))^c_k) of segments, [..., A, D, G, G], and the rest,
    log prod_k Gamma(A) (A + n_k)^n_k / Gamma(A + n_k), [..., A, D].

    ``mass`` [..., D, G] and ``counts`` [..., K, D, G] of cells are added up over the cells from i to j, n_k over all;
    ``totals`` A are [..., A]. In units of what all rows are worth, A + n_k, nothing large is left to cancel.
    """
    front = mass.shape[:-2]
    flat = (part.reshape(prod(front), *part.shape[len(front) :]) for part in (mass, counts, totals))
    weights, rest = jax.vmap(_of_columns)(*flat)
    return weights.reshape(*front, *weights.shape[1:]), rest.reshape(*front, *rest.shape[1:])


def _of_columns(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    q, total = segment_sums(mass)[None], totals[:, None, None, None]
    q = jnp.where(q > 0, q, 1.0)

    def add(sums: tuple[Array, Array], of_class: Array) -> tuple[tuple[Array, Array], None]:
        rows = of_class.sum(axis=-1)[None]
        unit = total + rows[..., None, None]
        segment = log_gamma_ratio(total * q, segment_sums(of_class)[None], q * unit)
        whole = log_gamma_ratio(total[..., 0, 0], rows, unit[..., 0, 0])
        return (sums[0] + segment, sums[1] - whole), None

    shape, kind = (len(totals), *mass.shape), jnp.result_type(mass, float)
    start = jnp.zeros((*shape, shape[-1]), kind), jnp.zeros(shape[:2], kind)
    return jax.lax.scan(add, start, jnp.asarray(counts, kind))[0]


LARGE = 16.0
"""From here on Stirling's series is used, as in ``log_gamma_ratio``; below, log-gammas have all digits."""


@compiled
def _add_logs(mass: Array, counts: Array, totals: Array, weights: Array, rest: Array) -> None:
    num_tables, num_classes, num_columns, size = counts.shape
    rows, inside = np.empty(num_classes), np.empty(num_classes)
    for table in range(num_tables):
        for d in range(num_columns):
            rows[:] = 0.0
            for k in range(num_classes):
                for g in range(size):
                    rows[k] += counts[table, k, d, g]
            for place in range(totals.shape[1]):
                total = totals[table, place]
                for i in range(size + 1):  # the last one is the whole column
                    whole = i == size
                    inside[:] = 0.0
                    q = 1.0 if whole else 0.0
                    for j in range(size - 1 if whole else i, size):
                        if not whole:
                            q += mass[table, d, j]
                        for k in range(num_classes):
                            c = rows[k] if whole else inside[k] + counts[table, k, d, j]
                            inside[k] = c
                            if c > 0.0 and q > 0.0:
                                a, unit = total * q, q * (total + rows[k])
                                top = a + c
                                if top < LARGE:
                                    logs = lgamma(top) - lgamma(a) - c * log(unit)
                                else:
                                    base, logs, step = a, 0.0, c
                                    if a < 8.0:
                                        product = 1.0
                                        for m in range(8):
                                            product *= a + m
                                        base, step = a + 8.0, c - 8.0
                                        logs = log(product) - 8.0 * log(unit)
                                    logs += (base - 0.5) * log1p(step / base) + step * (log(top / unit) - 1.0)
                                    x, y = 1.0 / top, 1.0 / base
                                    u, v = x * x, y * y
                                    logs += x * (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u / 1188))))
                                    logs -= y * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v / 1188))))
                                if whole:
                                    rest[table, place, d] -= logs
                                else:
                                    weights[table, place, d, i, j] += logs
