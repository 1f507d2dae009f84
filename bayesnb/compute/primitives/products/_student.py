"""Log densities of Student's t summed over columns, also mixed with that of all classes; numpy rows by loops.

``compare`` scores 148,200 rows of 29 reals and 23 classes some twenty times, and takes 169 s, where its goal is 180.
Such a prediction with powers takes .15 s by ``log_powers``, and as a mixture .35; by XLA 1.8 and 4.2.

numba leaves ``log`` and ``exp`` to the C library, one number at a time, which takes ten times as long. Written as
arithmetic on arrays of rows, with the bits of an exponent in view, both are vectorised: a logarithm takes a quarter of
the time of numpy's log1p.

    log(1 + s) = e log 2 + log(1 + f),   1 + s = 2^e (1 + f),   1 + f between sqrt(1/2) and sqrt(2)
    log(1 + f) = 2 artanh(f / (2 + f)),  a series in the square
    exp(-v)    = 2^-e exp(g),            g between -log(2) / 2 and log(2) / 2,  a Taylor series
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.compute.arrays._cells import observed
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._loops import compiled_unless_few, for_loops, part_of_loops
from bayesnb.compute.arrays._placement import Array, on_host, pad_rows
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import score_rows, single_precision


class Student(NamedTuple):
    """log p(x_d | k) = offset - power log(1 + z^2) with z = (x - centre - loc) precision; arrays [K, D], centre [1, D].

    ``condition`` is the largest distance from the centre in units of the predictive's width.
    """

    loc: Array
    precision: Array
    power: Array
    offset: Array
    centre: Array
    condition: Array | None

    def log_predictive_terms(self, x: Array) -> Array:
        """log p(x_d | k) cell by cell, [N, K, D]; 0 for NaN. Pure JAX."""
        x = jnp.asarray(x, jnp.result_type(float))
        missing = jnp.isnan(x)[:, None, :]
        z = ((x - self.centre)[:, None, :] - self.loc[None]) * self.precision[None]
        terms = self.offset[None] - self.power[None] * stable.log1p_square(jnp.where(missing, 0.0, z))
        return jnp.where(missing, 0.0, terms)


def log_student(table: Student, x: Array) -> Array:
    """The log predictive of rows, [N, K]; of numpy rows as the sum of offsets less that of power log(1 + z^2)."""
    if not on_host(table, x):
        return _careful(table, jnp.asarray(x))
    # columns with equally many observed cells have the same power, and so need one logarithm in all
    alike = ((table.power == table.power.max(axis=1, keepdims=True, initial=0.0)) | (table.precision == 0)).all()
    single = bool(alike) and single_precision(table.condition)
    table = table._replace(condition=None)
    tables = cache(lambda dtype: jax.tree.map(lambda part: np.array(part, dtype), table))
    power = tables(np.float64).power.max(axis=1, initial=0.0)

    def score(block: Array, dtype: Any) -> LogProb:
        block = for_loops(block)
        loc, precision, powers, _, centre, _ = tables(dtype)
        seen, offset = observed(block), tables(np.float64).offset.T
        finite = offset.sum(axis=0) if seen is None else seen @ offset
        if alike:
            finite = finite - power * log_squares(block, centre[0], loc, precision)
        else:
            finite = finite - log_powers(block, centre[0], loc, precision, powers)
        if dtype is np.float64 and not np.isfinite(finite).all():
            finite = compute(_careful, table, pad_rows(block))[: len(block)]
        return LogProb(finite, None)

    return score_rows(score, x, len(power), single=single).finite


@jax.jit
def _careful(table: Student, x: Array) -> Array:
    return table.log_predictive_terms(x).sum(axis=-1)


def log_student_mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    """sum_d log(p_d p(x_d | k) + (1 - p_d) p(x_d)) of rows, [N, K], where ``log_odds`` [D] are log(p / (1 - p)).

    Of numpy rows as log(1 - p) + b + log(1 + exp(log odds + a - b)), a of the class and b of all.
    """
    if not on_host(own, pooled, log_odds, x):
        return _careful_mixture(own, pooled, log_odds, jnp.asarray(x))

    def score(block: Array, _: Any) -> LogProb:
        z = (block - pooled.centre - pooled.loc) * pooled.precision
        base, seen = pooled.offset - pooled.power * np.log1p(np.square(z)), observed(block)
        both = scipy.special.log_expit(-log_odds) + base
        if seen is not None:
            base, both = np.where(seen, base, np.inf), np.where(seen, both, 0.0)
        shift = log_odds + own.offset
        more = log_powers(for_loops(block), own.centre[0], own.loc, own.precision, own.power, shift, base)
        total = both.sum(axis=1)[:, None] + more
        if not np.isfinite(total).all():
            total = compute(_careful_mixture, own, pooled, log_odds, pad_rows(block))[: len(block)]
        return LogProb(total, None)

    return score_rows(score, x, len(own.loc)).finite


@jax.jit
def _careful_mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    depends = jax.nn.log_sigmoid(log_odds)[None, None] + own.log_predictive_terms(x)
    free = jax.nn.log_sigmoid(-log_odds)[None, None] + pooled.log_predictive_terms(x)
    return jnp.logaddexp(depends, free).sum(axis=-1)


TOGETHER = 16
"""The number of factors 1 + z^2 that are multiplied in the precision of the tables."""

ROWS = 256
"""The number of rows scored together; they stay in the first-level cache."""


@compiled_unless_few
def log_squares(x: Array, centre: Array, loc: Array, precision: Array) -> Array:
    """sum_d log(1 + z^2) with z = (x_nd - centre_d - loc_kd) precision_kd, float64 [N, K]; NaN cells add nothing.

    Tables are [D] and [K, D], all of the dtype in which z is computed; the result is not finite on overflow. Factors
    1 + z^2 are multiplied and one logarithm is taken of many, in 0.1 of the time of numpy's log1p.
    """
    out = np.zeros((x.shape[0], loc.shape[0]))
    # a product is kept as 1 + excess, so that no digits are lost when all squares are small
    tile, excess = np.empty((TOGETHER, ROWS), centre.dtype), np.empty(ROWS, centre.dtype)
    total = np.zeros((out.shape[1], ROWS))
    for begin in range(0, x.shape[0], ROWS):
        rows = min(ROWS, x.shape[0] - begin)
        for first in range(0, x.shape[1], TOGETHER):
            columns = min(TOGETHER, x.shape[1] - first)
            for d in range(columns):
                for n in range(rows):
                    tile[d, n] = x[begin + n, first + d] - centre[first + d]
            for k in range(out.shape[1]):
                excess[:rows] = 0
                for d in range(columns):
                    of_class, unit = loc[k, first + d], precision[k, first + d]
                    for n in range(rows):
                        z = (tile[d, n] - of_class) * unit
                        square = z * z if z == z else centre.dtype.type(0)
                        excess[n] = excess[n] + square + excess[n] * square
                large = 0
                for n in range(rows):
                    total[k, n] = total[k, n] + excess[n] + total[k, n] * excess[n]
                    large += not total[k, n] < 1e150  # before another product overflows, the logarithm is taken
                if large > 0 or first + TOGETHER >= x.shape[1]:
                    for n in range(rows):
                        product = 1.0 + total[k, n]
                        # adds what 1 + total lost to rounding
                        out[begin + n, k] += math.log(product) + (total[k, n] - (product - 1.0)) / product
                        total[k, n] = 0
    return out


LARGE_SQUARE = 1e300
"""Larger squares have a result that is not finite, so that another method is used."""

LOG_2 = 0.6931471805599453
HIGH, LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log 2 in two parts, the first with few digits, so that whole multiples of it are exact."""

MARK, WHOLE = np.uint64(0x4330000000000000), 2.0**52
"""The bits of the number 2^52: with a small integer in its last bits it is 2^52 plus that integer."""

ROUND = 1.5 * 2.0**52
"""A number plus this is rounded to an integer, which its last bits hold."""

HALF, BIAS, LAST, BITS = np.uint64(0x3FE6A09E667F3BCD), np.uint64(1023), np.uint64(0xFFF), np.uint64(52)
"""The bits of sqrt(1/2); the exponent of 1; a mask of an exponent; and where a double has its exponent."""

# a minimax polynomial of 2 artanh(g) / g - 2 in g^2, by FreeBSD's e_log.c
A1, A2, A3, A4 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01
A5, A6, A7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01

E2, E3, E4, E5, E6, E7, E8, E9, E10, E11 = (1.0 / math.factorial(n) for n in range(2, 12))


@part_of_loops
def _log1p_of_rows(square: Array, room: Array, bits: Array, logs: Array, rows: int) -> None:
    """logs = log(1 + square), by the formula of the head; ``room`` is [2, ROWS], and ``bits`` its bits."""
    for n in range(rows):
        room[0, n] = 1.0 + square[n]
    for n in range(rows):  # 1 + square = 2^e (1 + f): 2^52 + e + 1023 and 2^-e take its place
        e = (bits[0, n] - HALF) >> BITS
        bits[0, n], bits[1, n] = e | MARK, (BIAS - e) << BITS
    for n in range(rows):
        f = square[n] * room[1, n] + (room[1, n] - 1.0)
        g = f / (2.0 + f)
        q = g * g
        r = q * (A1 + q * (A2 + q * (A3 + q * (A4 + q * (A5 + q * (A6 + q * A7))))))
        logs[n] = (room[0, n] - WHOLE) * LOG_2 + (f - g * (f - r))


@part_of_loops
def _exp_of_rows(v: Array, room: Array, bits: Array, powers: Array, rows: int) -> None:
    """powers = exp(-v) for v from 0 to 700, by the formula of the head; ``room`` and ``bits`` as above."""
    for n in range(rows):
        room[0, n] = v[n] / LOG_2 + ROUND
        e = room[0, n] - ROUND
        room[1, n] = (e * HIGH - v[n]) + e * LOW
    for n in range(rows):
        bits[0, n] = (BIAS - (bits[0, n] & LAST)) << BITS
    for n in range(rows):
        g = room[1, n]
        last = E6 + g * (E7 + g * (E8 + g * (E9 + g * (E10 + g * E11))))
        powers[n] = (1.0 + g * (1.0 + g * (E2 + g * (E3 + g * (E4 + g * (E5 + g * last)))))) * room[0, n]


@partial(compiled_unless_few, error_model="numpy", fastmath={"contract"})
def log_powers(
    x: Array, centre: Array, loc: Array, precision: Array, power: Array, shift: Any = None, base: Any = None
) -> Array:
    """sum_d l_nkd, l = power_kd log(1 + z^2) with z = (x_nd - centre_d - loc_kd) precision_kd, float64 [N, K]; or with
    ``shift`` [K, D] and ``base`` [N, D] sum_d log(1 + exp(shift_kd - base_nd - l_nkd)).

    NaN cells add nothing, nor do those with an infinite base. The result is not finite on overflow.
    """
    out = np.zeros((x.shape[0], loc.shape[0]))
    tile, others = np.empty((x.shape[1], ROWS)), np.empty((x.shape[1], ROWS))
    total, excess, square, logs = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    room = np.empty((2, ROWS))
    bits = room.view(np.uint64)
    for begin in range(0, x.shape[0], ROWS):
        rows = min(ROWS, x.shape[0] - begin)
        for n in range(rows):
            for d in range(x.shape[1]):
                tile[d, n] = x[begin + n, d] - centre[d]
                if base is not None:
                    others[d, n] = base[begin + n, d]
        for k in range(loc.shape[0]):
            total[:rows], excess[:rows] = 0.0, 0.0
            for d in range(x.shape[1]):
                middle, unit, exponent = loc[k, d], precision[k, d], power[k, d]
                for n in range(rows):
                    z = (tile[d, n] - middle) * unit
                    square[n] = z * z if z * z < LARGE_SQUARE else (np.inf if z == z else 0.0)
                _log1p_of_rows(square, room, bits, logs, rows)
                if base is None:
                    for n in range(rows):
                        total[n] += exponent * logs[n]
                    continue
                # log(1 + exp(odds)) = max(odds, 0) + log(1 + exp(-v)), whose sum is the logarithm of a product
                for n in range(rows):
                    odds = shift[k, d] - others[d, n] - exponent * logs[n]
                    total[n] += max(odds, 0.0)
                    square[n] = min(abs(odds), 700.0)  # exp(-v) of larger v is lost in 1 + exp(-v)
                _exp_of_rows(square, room, bits, logs, rows)
                for n in range(rows):
                    excess[n] = excess[n] + logs[n] + excess[n] * logs[n]
            for n in range(rows):
                out[begin + n, k] = total[n] + math.log1p(excess[n])
    return out
