"""The No-U-Turn sampler, compiled once for each program structure and reused for data of the same shapes.

    p(sites | data)  is proportional to  p(sites) exp(log likelihood)

Transitions and adaptation are NumPyro's (Hoffman and Gelman 2014). Here they are pure jitted functions with the data as
arguments: JAX caches compiled code by structure, shapes, precision and settings, and the data are not retained. A
chain's state is one flat vector of unconstrained values, so its trees have few arrays, however many sites there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro
from jax.flatten_util import ravel_pytree
from numpyro.infer import init_to_median, init_to_value
from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo, constrain_fn, initialize_model, potential_energy

from bayesnb.arrays.placement import Array, to_host

Sites = dict[str, Array]

STATISTICS = ("diverging", "num_steps", "accept_prob")
"""The sampler statistics kept for each draw."""

UPDATES = 50
"""How many times the progress bar is updated."""


class Program(NamedTuple):
    """``prior`` samples its sites given the data; ``log_likelihood`` takes what ``prior`` returns, and the data.

    Use module-level functions, not closures: JAX's cache of compiled code identifies the program by them.
    """

    prior: Callable[..., Any]
    log_likelihood: Callable[..., Array]

    def __call__(self, *data: Any) -> None:
        """Run the NumPyro program."""
        numpyro.factor("log_likelihood", self.log_likelihood(self.prior(*data), *data))


class _Run(NamedTuple):
    """The states of the chains and the draws so far: vectors and statistics, [S, ...] or, for C chains, [S, C, ...]."""

    state: Any
    vectors: Array
    statistics: dict[str, Array]


def sample(
    program: Program,
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

    Args:
        program: The prior and the log likelihood.
        data: The arguments of both functions, pytrees of arrays.
        key: A ``jax.random.key``.
        start: Initial values; sites left out start at random. None for the median of a few draws from the prior.
        num_samples: Draws per chain.
        num_warmup: Warm-up draws per chain, in which the sampler adapts.
        num_chains: The number of chains, run in parallel.
        progress_bar: Show progress.

    Raises:
        ValueError: if no initial point with finite density is found.
    """
    from rich.console import Console
    from rich.progress import Progress

    data = jax.device_put(data)
    run, sites, found = _begun(program, data, key, start, num_samples, num_warmup, num_chains)
    if not found:
        raise ValueError(
            "NUTS found no point to start from, at which the posterior density is finite: the priors hold the data, or "
            "all but a few parameters, to be impossible; give wider ones"
        )
    total = num_warmup + num_samples
    step = -(-total // UPDATES) if progress_bar else total
    with Progress(console=Console(stderr=True), disable=not progress_bar) as progress:
        task = progress.add_task("compiling", total=total)
        for first in range(0, total, step):
            last = min(first + step, total)
            run = jax.block_until_ready(_advanced(program, data, run, sites, first, last, num_warmup, num_chains))
            progress.update(task, completed=last, description="warm-up" if last < num_warmup else "sampling")
    return to_host(_collected(program, data, run.vectors, run.statistics, sites, num_chains))


@partial(jax.jit, static_argnums=(0, 4, 5, 6))
def _begun(
    program: Program,
    data: tuple[Any, ...],
    key: Array,
    start: Sites | None,
    num_samples: int,
    num_warmup: int,
    num_chains: int,
) -> tuple[_Run, Sites, Array]:
    """The chains at their starts, the unconstrained sites of one chain, and whether the starts have finite density."""
    starting, walking = jax.random.split(key, (2, num_chains)) if num_chains > 1 else jax.random.split(key)
    strategy = init_to_median() if start is None else init_to_value(values=start)
    info = initialize_model(starting, program, init_strategy=strategy, model_args=data).param_info

    def begin(sites: Sites, potential: Array, slope: Sites, key: Array) -> Any:
        vector, unravel = ravel_pytree(sites)
        init, _ = _kernel(program, data, unravel)
        return init(ParamInfo(vector, potential, ravel_pytree(slope)[0]), num_warmup, rng_key=key)

    state = _each(begin, num_chains)(*info, walking)
    finite = jax.tree.map(lambda leaf: jnp.isfinite(leaf).all(), (state.potential_energy, state.z_grad))
    collected = jax.tree.map(lambda leaf: jnp.zeros((num_samples, *leaf.shape), leaf.dtype), _told(state))
    sites = jax.tree.map(lambda leaf: leaf[0], info.z) if num_chains > 1 else info.z
    return _Run(state, *collected), sites, jnp.all(jnp.stack(finite))


@partial(jax.jit, static_argnums=(0, 6, 7), donate_argnums=2)
def _advanced(
    program: Program,
    data: tuple[Any, ...],
    run: _Run,
    sites: Sites,
    first: Array,
    last: Array,
    num_warmup: int,
    num_chains: int,
) -> _Run:
    """The run after transitions ``first`` to ``last``; each warm-up transition is overwritten by the next."""
    init, transition = _kernel(program, data, ravel_pytree(sites)[1])

    def remember(vector: Array, potential: Array, slope: Array) -> Any:
        return init(ParamInfo(vector, potential, slope), num_warmup)

    # the kernel's init must run for its transition to know num_warmup; its result is not needed
    _each(remember, num_chains)(run.state.z, run.state.potential_energy, run.state.z_grad)

    def step(i: Array, run: _Run) -> _Run:
        state = _each(transition, num_chains)(run.state)
        row = jnp.maximum(i - num_warmup, 0)
        return _Run(state, *jax.tree.map(lambda rows, new: rows.at[row].set(new), run[1:], _told(state)))

    return jax.lax.fori_loop(first, last, step, run)


@partial(jax.jit, static_argnums=(0, 5))
def _collected(
    program: Program,
    data: tuple[Any, ...],
    vectors: Array,
    statistics: dict[str, Array],
    sites: Sites,
    num_chains: int,
) -> tuple[Sites, dict[str, Array]]:
    """The draws by site, in the sites' own units, and their statistics; chain after chain."""
    unravel = ravel_pytree(sites)[1]

    def constrained(vector: Array) -> Sites:
        return constrain_fn(program.prior, data, {}, unravel(vector), return_deterministic=True)

    if num_chains > 1:
        vectors, statistics = jax.tree.map(
            lambda rows: jnp.swapaxes(rows, 0, 1).reshape(-1, *rows.shape[2:]), (vectors, statistics)
        )
    return jax.vmap(constrained)(vectors), statistics


def _kernel(program: Program, data: tuple[Any, ...], unravel: Callable[[Array], Sites]) -> tuple[Any, Any]:
    """NumPyro's ``init`` and transition functions for a chain on the flat vector."""
    return hmc(lambda vector: potential_energy(program, data, {}, unravel(vector)), algo="NUTS")


def _each(function: Callable[..., Any], num_chains: int) -> Callable[..., Any]:
    """The function mapped over chains; a single chain is not mapped: vmap computes both branches of a conditional."""
    return jax.vmap(function) if num_chains > 1 else function


def _told(state: Any) -> tuple[Array, dict[str, Array]]:
    return state.z, {name: getattr(state, name) for name in STATISTICS}
