"""The No-U-Turn sampler, compiled once for each program structure and reused for data of the same shapes.

    p(sites | data)  is proportional to  p(sites) exp(log likelihood)

Transitions and adaptation are NumPyro's (Hoffman and Gelman 2014). Its kernel and the jitted functions here take the
data as arguments: JAX caches compiled code by program, shapes, precision and settings, and no data are kept. A chain's
state is one flat vector of unconstrained values, so its trees have few arrays, however many sites there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.flatten_util import ravel_pytree
from numpyro.infer import init_to_median, init_to_value
from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo, constrain_fn, initialize_model, potential_energy
from tqdm import tqdm

from bayesnb.compute.arrays._placement import Array, allow_promotion, to_host
from bayesnb.core.model._naive_bayes import Sites

STATISTICS = ("diverging", "num_steps", "accept_prob")
"""The sampler statistics kept for each draw."""


class Target(NamedTuple):
    """``prior`` samples its sites given the data; ``log_likelihood`` takes what ``prior`` returns, and the data.

    Use module-level functions, not closures: compiled code is cached by these functions.
    """

    prior: Callable[..., Any]
    log_likelihood: Callable[..., Array]

    def __call__(self, *data: Any) -> None:
        """Run the NumPyro program."""
        numpyro.factor("log_likelihood", self.log_likelihood(self.prior(*data), *data))


@allow_promotion()
def sample(
    target: Target,
    data: tuple[Any, ...],
    key: Array,
    *,
    start: Sites | None = None,
    num_samples: int,
    num_warmup: int,
    num_chains: int,
    progress_bar: bool,
) -> tuple[Sites, dict[str, Array]]:
    """Draws by site, chain after chain, [C S, ...], and the sampler statistics of each draw, [C S]; on the host.

    ``data`` are the arguments of both functions of the target, pytrees of arrays. ``start`` has the initial values;
    sites left out start at random. If it is None, chains start at the median of a few draws from the prior. The rest is
    as in ``fit_nuts``. ValueError if no initial point with finite density is found.
    """
    data, total = jax.device_put(data), num_warmup + num_samples
    init, transition = _kernel(target, num_warmup)
    state, draws, sites = _begin(target, init, data, key, start, num_samples, num_chains)
    if not all(np.isfinite(leaf).all() for leaf in (state.potential_energy, state.z_grad)):
        raise ValueError(
            "NUTS found no initial point with finite log density: the priors rule out the data or almost all parameter "
            "values. Use wider priors."
        )
    step = -(-total // 50) if progress_bar else total  # the bar is updated 50 times
    with tqdm(desc="compiling", total=total, disable=None if progress_bar else True) as bar:  # on a terminal alone
        for first in range(-num_warmup, num_samples, step):
            last = min(first + step, num_samples)
            state, draws = jax.block_until_ready(_advance(transition, state, draws, (data, sites), first, last))
            bar.set_description("warm-up" if last < 0 else "sampling", refresh=False)
            bar.update(last - first)
    return to_host(_constrain(target, data, draws, sites, num_chains))


@cache
def _kernel(target: Target, num_warmup: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """NumPyro's ``init`` and transition functions; the potential energy depends on the data and on ``sites``.

    Both are arguments of the transition, so that it is compiled once: JAX caches compiled code by function object, and
    this cache gives the same object to every call. ``init`` sets the kernel up while JAX traces it. It gets the point
    with its potential energy and gradient, but no data: the kernel would keep them.
    """
    init, transition = hmc(potential_fn_gen=lambda *arguments: partial(_potential, target, *arguments), algo="NUTS")
    return lambda point, key: init(point, num_warmup, rng_key=key), transition


def _potential(target: Target, data: tuple[Any, ...], sites: Sites, vector: Array) -> Array:
    return potential_energy(target, data, {}, ravel_pytree(sites)[1](vector))


@partial(jax.jit, static_argnums=(0, 1, 5, 6))
def _begin(
    target: Target,
    init: Callable[..., Any],
    data: tuple[Any, ...],
    key: Array,
    start: Sites | None,
    num_samples: int,
    num_chains: int,
) -> tuple[Any, Any, Sites]:
    """The chains at their initial points, empty draws, and the unconstrained sites of one chain."""
    starting, walking = jax.random.split(key, (2, num_chains)) if num_chains > 1 else jax.random.split(key)
    strategy = init_to_median() if start is None else init_to_value(values=start)
    info = initialize_model(starting, target, init_strategy=strategy, model_args=data).param_info

    def begin(info: ParamInfo, key: Array) -> Any:
        vector, gradient = (ravel_pytree(sites)[0] for sites in (info.z, info.z_grad))
        return init(ParamInfo(vector, info.potential_energy, gradient), key)

    state = _each(begin, num_chains)(info, walking)
    draws = jax.tree.map(lambda leaf: jnp.zeros((num_samples, *leaf.shape), leaf.dtype), _record(state))
    return state, draws, jax.tree.map(lambda leaf: leaf[0], info.z) if num_chains > 1 else info.z


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def _advance(
    transition: Callable[..., Any], state: Any, draws: Any, model_args: tuple[Any, Sites], first: Array, last: Array
) -> tuple[Any, Any]:
    """The state and the draws after transitions ``first`` to ``last``; those before 0 are warm-up and not kept."""

    def step(i: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        state, draws = carry
        state = _each(lambda state: transition(state, model_args), state.i.size)(state)
        row = jnp.maximum(i, 0)
        return state, jax.tree.map(lambda rows, new: rows.at[row].set(new), draws, _record(state))

    return jax.lax.fori_loop(first, last, step, (state, draws))


@partial(jax.jit, static_argnums=(0, 4))
def _constrain(
    target: Target, data: tuple[Any, ...], draws: Any, sites: Sites, num_chains: int
) -> tuple[Sites, dict[str, Array]]:
    """The draws by site, constrained to their supports, and the sampler statistics; chain after chain."""
    unravel = ravel_pytree(sites)[1]

    def constrain(vector: Array) -> Sites:
        return constrain_fn(target.prior, data, {}, unravel(vector), return_deterministic=True)

    if num_chains > 1:
        draws = jax.tree.map(lambda rows: jnp.swapaxes(rows, 0, 1).reshape(-1, *rows.shape[2:]), draws)
    vectors, statistics = draws
    return jax.vmap(constrain)(vectors), statistics


def _each(function: Callable[..., Any], num_chains: int) -> Callable[..., Any]:
    """The function mapped over chains. A single chain is not mapped: vmap computes both branches of a conditional."""
    return jax.vmap(function) if num_chains > 1 else function


def _record(state: Any) -> tuple[Array, dict[str, Array]]:
    return state.z, {name: getattr(state, name) for name in STATISTICS}
