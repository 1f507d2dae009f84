"""Bounds of log predictives whose prior gets up to s pseudo-rows, from boxes of hyperparameters: outer ones.

Each hyperparameter is bounded apart while the pseudo-rows' content varies in a range, so that the bounds may be wider
than what any pseudo-rows do. They widen with s, and for s = 0 both are the predictive. The range is three standard
deviations about the mean of all rows; pseudo-rows of trials and words are as long as rows are on average. Derivations:
docs/theory/robustness.md.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import digamma
from jax.scipy.stats import norm

from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives._distances import LOG_2PI
from bayesnb.compute.primitives.products._student_bounds import StudentBox
from bayesnb.core.families import Binomial, Multinomial, Normal, Poisson, Views
from bayesnb.core.families._multinomial import counts_of
from bayesnb.core.families._views import ScoredBins
from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma, update
from bayesnb.core.results._pseudo_rows import codes_of, pseudo_counts, share_of

Content = tuple[Array, Array]
"""The least and the largest content of a pseudo-row, [1, D]."""


@singledispatch
def usual_content(family: Any, statistics: Any, num_rows: Array) -> Content | None:
    """The range of contents by the statistics of all rows; None if any content is alike. Pure JAX."""
    del family, statistics, num_rows
    return None


@usual_content.register(Normal)
@usual_content.register(Views)
def _(family: Any, statistics: Any, num_rows: Array) -> Content:
    del family, num_rows
    pooled = getattr(statistics, "moments", statistics).pool()
    return pooled.mean - 3.0 * jnp.sqrt(pooled.variance), pooled.mean + 3.0 * jnp.sqrt(pooled.variance)


@usual_content.register(Poisson)
def _(family: Any, statistics: Any, num_rows: Array) -> Content:
    del family, num_rows
    pooled = statistics.pool()
    mean = pooled.total / jnp.maximum(pooled.cells, 1.0)
    return jnp.maximum(mean - 3.0 * jnp.sqrt(mean), 0.0), mean + 3.0 * jnp.sqrt(mean)


@usual_content.register(Binomial)
def _(family: Any, statistics: Any, num_rows: Array) -> Content:
    del family
    trials = statistics.trials.sum(axis=0, keepdims=True) / num_rows
    return 0.0 * trials, trials


@usual_content.register(Multinomial)
def _(family: Any, statistics: Any, num_rows: Array) -> Content:
    del family
    words = jnp.reshape(statistics.counts.sum(), (1, 1)) / num_rows
    return 0.0 * words, words


@singledispatch
def outer_terms(family: Any, s: Array, content: Content | None, x: Array) -> tuple[Array, Array]:
    """Bounds of the log predictive of cells, [N, K, F], with up to s [N, 1, 1] pseudo-rows. Pure JAX."""
    del content
    counts = pseudo_counts(family)
    if counts is None:
        raise ValueError(f"pseudo-rows of {type(family).__name__} have no bounds: leave its block out of the model")
    places, seen = codes_of(family, x).places()
    own = counts._replace(**{n: jnp.moveaxis(t[:, :, places], 1, 2) for n, t in counts._asdict().items()})
    logs = [jnp.log(share_of(own, share, s[None]).sum(axis=0)) for share in (own.least, own.most)]
    low, high = logs if seen is None else (jnp.where(seen[:, None], part, 0.0) for part in logs)
    return low, high


@outer_terms.register(Views)
def _(family: Any, s: Array, content: Content, x: Array) -> tuple[Array, Array]:
    of_views = [outer_terms(view, s, content, x) for view in family._views]
    low, high = (jnp.concatenate(parts, axis=2) for parts in zip(*of_views, strict=True))
    return low, high


@outer_terms.register(Normal)
def _(family: Any, s: Array, content: Content, x: Array) -> tuple[Array, Array]:
    cells = jnp.asarray(x, jnp.result_type(float))
    return student_box(family.prior, s, content, shared=family.shared).terms(cells)


@outer_terms.register(ScoredBins)
def _(family: Any, s: Array, content: Content, x: Array) -> tuple[Array, Array]:
    del content
    scores, prior, statistics = family._sums()
    bins = codes_of(family.histogram, x).cells
    z = jnp.where(bins >= 0, scores[jnp.arange(bins.shape[1])[None], jnp.maximum(bins, 0)], jnp.nan)
    ends = scores.min(axis=1)[None], scores.max(axis=1)[None]
    base = jnp.where(bins >= 0, norm.logpdf(z), 0.0)[:, None]
    low, high = (part - base for part in student_box(update(prior, statistics), s, ends).terms(z))
    return low, high


def student_box(prior: NormalInverseGamma, s: Array, content: Content, *, shared: bool = False) -> StudentBox:
    """The box of up to s pseudo-rows, [N, 1, 1] or [1, 1, 1]. Pure JAX."""
    least, largest = (end.T[..., None] for end in content)
    loc, strength, shape, rate = (table.T[..., None] for table in (*prior[:3], prior.proper_rate))
    s = s.T
    share, kept = s / (strength + s), strength / (strength + s)
    first, last = (
        loc + share * sign * jnp.maximum(sign * (end - loc), 0.0) for sign, end in ((-1.0, least), (1.0, largest))
    )
    # the mean of pseudo-rows half at each end that adds most to the rate
    middle = (least + largest - 2.0 * kept * loc) / (2.0 * jnp.where(share > 0, share, 1.0))
    middle = jnp.clip(middle, least, largest)
    added = 0.5 * s * ((largest - middle) * (middle - least) + kept * jnp.square(middle - loc))
    most_rate = rate + (added.max(axis=1, keepdims=True) if shared else added)
    most_shape, most_strength = shape + 0.5 * s, strength + s
    # of two rates r < R both densities are level where (R + q) / (r + q) is a power of R / r
    power = most_shape / (most_shape + 0.5)
    ratio = jnp.expm1(power * jnp.log(most_rate / rate))

    def offset(shape: Array, strength: Array) -> Array:
        return stable.log_gamma_ratio(shape, jnp.full_like(shape, 0.5)) - 0.5 * (LOG_2PI + jnp.log1p(1.0 / strength))

    return StudentBox(
        centre=0.5 * (first + last),
        half=0.5 * (last - first),
        units=(0.5 * strength / (strength + 1.0), 0.5 * most_strength / (most_strength + 1.0)),
        rates=(rate, most_rate),
        level=(most_rate - rate) / jnp.where(ratio > 0, ratio, 1.0) - rate,
        least_shape=shape,
        most_shape=most_shape,
        offsets=(offset(shape, strength), offset(most_shape, most_strength)),
        scaleless=prior.scaleless.T[..., None],
    )


normal_box = jax.jit(lambda family, s, content: student_box(family.prior, s, content, shared=family.shared))


@outer_terms.register(Poisson)
def _(family: Any, s: Array, content: Content, x: Array) -> tuple[Array, Array]:
    missing = jnp.isnan(jnp.asarray(x, jnp.result_type(float)))[:, None, :]
    counts = jnp.where(missing, 0.0, jnp.asarray(x, jnp.result_type(float))[:, None, :])
    shapes = family.shape[None] + 0.0 * s, family.shape[None] + s * content[1][None]
    rates = family.rate[None] + 0.0 * s, family.rate[None] + s

    def value(shape: Array, rate: Array) -> Array:
        return stable.log_gamma_ratio(shape, counts) - shape * jnp.log1p(1.0 / rate) - counts * jnp.log1p(rate)

    def along(rate: Array) -> Array:
        """A concave function of the shape lies below its tangents at both ends."""
        (start, end), waiting = shapes, jnp.log1p(1.0 / rate)
        rises, falls = (digamma(shape + counts) - digamma(shape) - waiting for shape in shapes)
        one, other, bend = value(start, rate), value(end, rate), rises - falls
        meet = (other - one - falls * (end - start)) / jnp.where(bend > 0, bend, 1.0)
        inside = one + rises * jnp.clip(meet, 0.0, end - start)
        return jnp.where(rises <= 0, one, jnp.where(falls >= 0, other, jnp.maximum(inside, other)))

    # no maximum lies inside: with the best rate a larger shape is better
    edges = [value(shape, jnp.clip(shape / jnp.maximum(counts, 1e-30), *rates)) for shape in shapes]
    high = jnp.stack([*edges, *map(along, rates)]).max(axis=0)
    low = jnp.stack([value(shape, rate) for shape in shapes for rate in rates]).min(axis=0)
    return jnp.where(missing, 0.0, low), jnp.where(missing, 0.0, high)


@outer_terms.register(Binomial)
def _(family: Any, s: Array, content: Content, x: Array) -> tuple[Array, Array]:
    ones, totals = jnp.split(jnp.asarray(x, jnp.result_type(float))[:, None, :], 2, axis=2)
    a, b, more = family.a[None], family.b[None], s * content[1][None]

    def chain(a: Array, of_a: Array, b: Array, of_b: Array) -> Array:
        """Successes one by one and then failures, each more probable with more of its own and fewer others."""
        rise, zeros = stable.log_gamma_ratio, totals - ones
        return rise(a, ones) - rise(a + of_a, ones) + rise(b, zeros) - rise(b + of_b + ones, zeros)

    return chain(a, b + more, b, a + more), chain(a + more, b, b + more, a)


@outer_terms.register(Multinomial)
def _(family: Any, s: Array, content: Content, x: Array) -> tuple[Array, Array]:
    counts, more = counts_of(x)[:, None, :], s * content[1][None]
    a, length = family.concentration[None], dirichlet.total(counts_of(x))[:, None, :]
    total = dirichlet.total(family.concentration)[None]
    words = dirichlet.total(stable.log_gamma_ratio(a, counts))

    def fill(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        """Halves the price at which all pseudo-words are used: of each word x / price - a."""
        middle = jnp.sqrt(ends[0] * ends[1])
        enough = dirichlet.total(jnp.maximum(counts / middle - a, 0.0)) < more
        return jnp.where(enough, ends[0], middle), jnp.where(enough, middle, ends[1])

    price, _ = jax.lax.fori_loop(0, 60, fill, (1e-12 + 0.0 * (words + more), 1e12 + 0.0 * (words + more)))
    added = jnp.maximum(counts / price - a, 0.0)
    gain = dirichlet.total(counts * jnp.log1p(added / a) - price * added) + price * more
    # the total grows at least by the integral of log(1 + n / A)
    grown = _entropy(total + length + more) - _entropy(total + length) - _entropy(total + more) + _entropy(total)
    high = words + gain - stable.log_gamma_ratio(total, length) - grown
    return words - stable.log_gamma_ratio(total + more, length), high


def _entropy(total: Array) -> Array:
    return total * jnp.log(total)
