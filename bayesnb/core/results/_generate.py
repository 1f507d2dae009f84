"""Samples from a model: its parameters, and labelled rows, a class first and then the features given the class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import handlers

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import Array, allow_promotion, is_traced, on_host, to_host
from bayesnb.core.families import Mapped, MultivariateNormal, Normal
from bayesnb.core.families._base import Params
from bayesnb.core.families._multivariate_normal import sample_normals
from bayesnb.core.model._generative_program import params_of_rows
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites


def generate(fit: Any, key: Array, num_rows: int, num_datasets: int | None, total_count: Any) -> tuple[Any, Array]:
    """X in the model's blocks and y, as ``Classifier.generate``."""
    # independent rows are data sets of one row each
    sets, size = (num_rows, 1) if num_datasets is None else (num_datasets, num_rows)
    width = 1 + sum(columns or 1 for columns in fit.columns().values())
    memory.require(8 * sets * size * width, f"{sets * size:,} rows of {width - 1:,} columns", "generate fewer at once")
    pieces, step = [], fit.draws_at_once or sets
    for start in range(0, sets, step):
        key, key_of_params, key_of_rows = jax.random.split(key, 3)
        some = slice(start, min(start + step, sets))
        params, draw = fit.draws(key_of_params, some.stop - start)
        totals = _totals(total_count, some, size, num_datasets is None)
        arguments = fit.model, params, either.repeat(draw, size), key_of_rows
        if on_host(fit) and not is_traced(key):
            arguments = to_host(arguments)
        # to compile the whole is quicker than its operations one by one, but the totals must then be known
        rows_of = _compiled_rows if totals is None or isinstance(totals, int) else _rows
        pieces.append(compute(rows_of, *arguments, total_count=totals))
    X, y = jax.tree.map(lambda *parts: either.concatenate(parts), *pieces)
    if num_datasets is None:
        return X, y
    return jax.tree.map(lambda a: a.reshape(sets, size, *a.shape[1:]), (X, y))


def _rows(model: NaiveBayes, params: Sites, draw: Array, key: Array, total_count: Any) -> tuple[Any, Array]:
    """X and y [N], row n from ``params[draw[n]]``; parameters are draws [S, K, ...]."""
    key_of_label, key_of_rows = jax.random.split(key)
    draw = jnp.asarray(draw)
    y = jax.random.categorical(key_of_label, jnp.log(jnp.asarray(model.class_probs_of(params)))[draw])
    blocks, rows = model.block_params(params), {}
    with (
        allow_promotion(),
        handlers.block(),
        handlers.seed(rng_seed=key_of_rows),
        numpyro.plate("rows", len(draw)),
    ):
        for name, family in model.families.items():
            totals = total_count.get(name) if isinstance(total_count, Mapping) else total_count
            rows[name] = sample_rows(family, name, blocks[name], y, draw, totals)
    return model.own_rows(rows["x"] if model.single else rows), y


@singledispatch
def sample_rows(family: Any, block: str, params: Params, y: Array, draw: Array, total_count: Array | None) -> Array:
    """Sample rows of the classes ``y`` [N], each from its own draw of the parameters [S, ...]."""
    return family.observe(block, params_of_rows(family, params, y, draw), None, total_count)


@sample_rows.register(Normal)
def _(family: Any, block: str, params: Params, y: Array, draw: Array, total_count: Array | None) -> Array:
    of_row = params_of_rows(family, params, y, draw)
    # ``likelihood`` gives a constant column some width; generated cells are exactly the constant
    rows = family.observe(block, of_row, None, total_count)
    return jnp.where(of_row["variance"] == 0, of_row["loc"], rows)


@sample_rows.register(Mapped)
def _(family: Any, block: str, params: Params, y: Array, draw: Array, total_count: Array | None) -> Array:
    names = [f"{block}_{i}" for i in range(len(family.parts))]
    sample = lambda part, name, own: sample_rows(part, name, own, y, draw, total_count)  # noqa: E731
    return family.back(*family.each(sample, names, family.own(params)))


@sample_rows.register(MultivariateNormal)
def _(family: Any, block: str, params: Params, y: Array, draw: Array, total_count: Array | None) -> Array:
    del block, total_count
    loc, covariance = jnp.asarray(params["loc"]), jnp.asarray(params["covariance"])
    covariance = covariance[:, None] if family.shared else covariance
    noise = jax.random.normal(numpyro.prng_key(), (len(y), loc.shape[-1]))
    return sample_normals(loc, covariance, noise, draw, y)


_compiled_rows = jax.jit(_rows, static_argnames="total_count")


def _totals(total_count: Any, sets: slice, size: int, by_row: bool) -> Any:
    """The totals of some data sets of ``size`` rows each; with ``by_row``, totals are given by independent row."""
    if isinstance(total_count, Mapping):
        return {name: _totals(part, sets, size, by_row) for name, part in total_count.items()}
    if np.ndim(total_count) == 0:
        return total_count
    totals = np.asarray(total_count)
    return totals[sets] if by_row else np.concatenate([totals] * (sets.stop - sets.start))


@partial(jax.jit, static_argnames=("total", "size"))
def sample_some(model: NaiveBayes, key: Array, start: int, *, total: int, size: int) -> Sites:
    """``size`` of ``total`` draws, from number ``start`` on."""
    keys = jax.lax.dynamic_slice_in_dim(jax.random.split(key, total), start, size)
    return jax.vmap(partial(sample_once, model))(keys)


def sample_once(model: NaiveBayes, key: Array) -> Sites:
    """One draw of the parameters from the prior of a resolved model. Pure JAX."""
    with allow_promotion(), handlers.block(), handlers.seed(rng_seed=key):
        return model.params()
