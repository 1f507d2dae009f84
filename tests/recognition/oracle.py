"""The program's own density, and that of a model composed by hand, in float64: what a right answer is held against.

Densities are compared in coordinates: all entries of a site, but the last of a simplex and those above the diagonal of
a matrix, which the others determine.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.infer.util import compute_log_probs

from tests.recognition.case import Call, Case

Values = dict[str, Any]


def trace(call: Call, values: Values | None = None) -> dict[str, Any]:
    """One run of the program, with these values of its latent sites or random ones."""
    fn, args, kwargs = call
    seeded = handlers.seed(handlers.substitute(fn, data=values or {}), jax.random.key(3))
    return handlers.trace(seeded).get_trace(*args, **kwargs)


def latent_supports(call: Call, label: str) -> dict[str, Any]:
    """The support of each latent site."""
    return {
        name: site["fn"].support
        for name, site in trace(call).items()
        if site["type"] == "sample" and not site["is_observed"] and name != label
    }


def draw(call: Call, label: str, seed: int) -> Values:
    """Random values of the latent sites, well inside their supports."""
    rng = np.random.default_rng(seed)
    sites, values = trace(call), {}
    for name, support in latent_supports(call, label).items():
        to_support = dist.biject_to(support)
        centre = to_support.inv(sites[name]["value"])
        values[name] = to_support(jnp.asarray(rng.uniform(-0.8, 0.8, jnp.shape(centre))))
    return values


def log_probs(call: Call, values: Values) -> dict[str, Any]:
    """log p of each site."""
    fn, args, kwargs = call
    return compute_log_probs(handlers.seed(fn, jax.random.key(3)), args, kwargs, values)[0]


def log_density(call: Call, values: Values) -> jax.Array:
    """log p of latents and rows together, by NumPyro; compiled as one function, sooner than operation by operation."""
    with numpyro.validation_enabled(False):  # which compares numpy cells with traced bounds
        return jax.jit(lambda values: sum(log_probs(call, values).values()))(values)


def coordinates(values: Values, supports: dict[str, Any]) -> Values:
    """The entries of each site that are free."""
    return {name: _free(jnp.asarray(values[name]), support) for name, support in supports.items()}


def restore(coordinates: Values, supports: dict[str, Any]) -> Values:
    """The values that have these coordinates."""
    return {name: _full(coordinates[name], support) for name, support in supports.items()}


def _is(support: Any, name: str) -> bool:
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support is getattr(dist.constraints, name)


def _free(value: jax.Array, support: Any) -> jax.Array:
    if _is(support, "simplex"):
        return value[..., :-1]
    if _is(support, "positive_definite"):
        return value[(..., *np.tril_indices(value.shape[-1]))]
    return value


def _full(free: jax.Array, support: Any) -> jax.Array:
    if _is(support, "simplex"):
        return jnp.concatenate([free, 1.0 - free.sum(axis=-1, keepdims=True)], axis=-1)
    if _is(support, "positive_definite"):
        size = int(np.sqrt(2 * free.shape[-1]))
        rows, columns = np.tril_indices(size)
        lower = jnp.zeros((*free.shape[:-1], size, size)).at[..., rows, columns].set(free)
        return jnp.where(np.tri(size, dtype=bool), lower, jnp.swapaxes(lower, -1, -2))
    return free


def log_jacobian(change: Callable[[Values], Values], values: Values, before: Any, after: Any) -> jax.Array:
    """log |d change(values) / d values| in coordinates, whose supports are given."""
    flat, unravel = ravel_pytree(coordinates(values, before))

    def changed(flat: jax.Array) -> jax.Array:
        return ravel_pytree(coordinates(change(restore(unravel(flat), before)), after))[0]

    slope = jax.jacfwd(changed)(flat)
    return jnp.linalg.slogdet(slope)[1]


def expected_log_density(case: Case, X: Any, y: Any, values: Values) -> jax.Array:
    """The density that the model composed by hand gives the program's latents and rows.

    Of an "either", whose priors are not in the model, only the likelihood counts.
    """
    own = case.label not in trace(case.call(X, y))  # the label is an argument: the class prior is ours
    model = case.expected.resolve(X, y) if not case.hierarchical else case.expected
    ours = (model, (X, np.asarray(y).reshape(-1)), {})
    supports = latent_supports(ours, "label")
    params = case.canonical(values)
    if own:
        supports.pop("class_probs", None)
        params = {"class_probs": jnp.full(case.expected.num_classes, 1.0 / case.expected.num_classes), **params}
    parts = log_probs(ours, params)
    density = sum(value for site, value in parts.items() if not own or site not in ("class_probs", "label"))
    if case.answer == "either":
        return density
    theirs = latent_supports(case.call(X, y), case.label)
    return density + log_jacobian(case.canonical, values, theirs, supports)
