"""Sums over segmentations against an enumeration of all sets of cuts, on the host and by JAX."""

import itertools
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import comb, logsumexp

from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.primitives._segmentations import (
    best_segmentation,
    draw_segmentation,
    log_prior_of_count,
    sum_segmentations,
)


class Every(NamedTuple):
    """The log of the sum, those of the segments' probabilities, and the cuts of all segmentations with their logs."""

    log_sum: float
    log_share: np.ndarray
    cuts: np.ndarray
    logs: np.ndarray


def enumerate_cuts(log_weight, real):
    size, free = len(log_weight), np.flatnonzero(real)
    all_cuts, logs, segments = [], [], []
    for bits in itertools.product([0, 1], repeat=len(free)):
        cuts = np.zeros(size - 1, int)
        cuts[free] = bits
        ends = [*np.flatnonzero(cuts), size - 1]
        starts = [0, *(end + 1 for end in ends[:-1])]
        prior = -np.log(len(free) + 1) - np.log(comb(len(free), sum(bits)))
        all_cuts.append(cuts)
        segments.append((starts, ends))
        logs.append(prior + log_weight[starts, ends].sum())
    log_sum, log_share = logsumexp(logs), np.full_like(log_weight, -np.inf)
    for one, log in zip(segments, logs, strict=True):
        log_share[one] = np.logaddexp(log_share[one], log - log_sum)
    return Every(log_sum, log_share, np.array(all_cuts), np.array(logs))


def problem(size, scale, seed=0):
    rng = np.random.default_rng(seed)
    real = (rng.random(size - 1) < 0.8).astype(float)
    return rng.normal(size=(size, size)) * scale, real


PROBLEMS = [(1, 1.0), (2, 3.0), (6, 3000.0), (9, 1.0), (10, 30.0)]


@pytest.mark.parametrize(("size", "scale"), PROBLEMS)
def test_sums_are_those_of_all_segmentations(size, scale):
    log_weight, real = problem(size, scale)
    every = enumerate_cuts(log_weight, real)
    log_sum, log_share = interpret(sum_segmentations, log_weight, real)
    assert_allclose(log_sum, every.log_sum, rtol=1e-12, atol=1e-12)
    assert_allclose(np.exp(log_share), np.exp(every.log_share), atol=1e-12)
    some = np.isfinite(every.log_share)
    assert (some == (log_share > -1e30)).all()
    assert_allclose(log_share[some], every.log_share[some], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("size", "scale"), PROBLEMS)
def test_the_best_is_the_best_of_all(size, scale):
    log_weight, real = problem(size, scale, seed=1)
    every = enumerate_cuts(log_weight, real)
    value, cuts = interpret(best_segmentation, log_weight, real, interpret(log_prior_of_count, real))
    assert_allclose(value, every.logs.max(), rtol=1e-12)
    assert cuts.tolist() == every.cuts[every.logs.argmax()].tolist()


@pytest.mark.slow
def test_both_bodies_agree_in_batches_and_slopes():
    log_weight, real = (np.stack(parts) for parts in zip(*(problem(8, 5.0, seed) for seed in range(4)), strict=True))
    log_sum, log_share = interpret(sum_segmentations, log_weight, real)
    prior = interpret(log_prior_of_count, real)
    value, cuts = interpret(best_segmentation, log_weight, real, prior)
    with jax.enable_x64(True):
        by_jax = jax.jit(jax.vmap(sum_segmentations))(log_weight, real)
        assert_allclose(by_jax[0], log_sum, rtol=1e-12)
        assert_allclose(by_jax[1], log_share, rtol=1e-12, atol=1e-12)
        best = jax.jit(best_segmentation)(log_weight, real, prior)
        assert_allclose(best[0], value, rtol=1e-12)
        assert_allclose(best[1], cuts, rtol=0)
        # the slope of the log of a sum of products is the probability of each factor
        slope = jax.jit(jax.grad(lambda table: sum_segmentations(table, jnp.asarray(real))[0].sum()))(log_weight)
        assert_allclose(slope, np.exp(log_share), atol=1e-12)


def test_wide_tables_neither_overflow_nor_vanish():
    """256 cells of which a cut behind every one is by far the best, or none is."""
    size = 256
    alone = np.where(np.eye(size) > 0, 50.0, 0.0)
    for log_weight, expected in ((alone, 50.0 * size - np.log(size)), (-alone - 1e5, -1e5 - np.log(size))):
        log_sum, log_share = interpret(sum_segmentations, log_weight, np.ones(size - 1))
        assert_allclose(log_sum, expected, rtol=1e-9)
        assert_allclose(
            np.triu(np.exp(log_share)).sum(axis=0).cumsum()[-1], size if log_weight[0, 0] > 0 else 1.0, rtol=1e-6
        )


def test_impossible_segments_have_no_share():
    log_weight, real = problem(6, 2.0)
    log_weight[:, 2] = -np.inf  # no segment ends behind the third cell
    every = enumerate_cuts(log_weight, real)
    log_sum, log_share = interpret(sum_segmentations, log_weight, real)
    assert_allclose(log_sum, every.log_sum, rtol=1e-12)
    assert_allclose(np.exp(log_share), np.exp(every.log_share), atol=1e-12)


def test_draws_have_the_probabilities_of_segmentations():
    log_weight, real = problem(5, 1.0, seed=3)
    every, draws = enumerate_cuts(log_weight, real), 4000
    tables = np.stack([np.zeros_like(log_weight), log_weight])[:, None]
    one = partial(draw_segmentation, log_weight=tables, real=real[None], which=np.ones(1, int))
    found = interpret(jax.vmap(one), jax.random.split(jax.random.key(0), draws))[:, 0]
    for cuts, log in zip(every.cuts, every.logs, strict=True):
        p = np.exp(log - every.log_sum)
        share = (found == cuts).all(axis=1).mean()
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / draws) + 1e-12
