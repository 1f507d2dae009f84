"""Checks of the other arguments of public functions: models, keys, numbers, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._loops import require_jax
from bayesnb.compute.arrays._placement import Array, as_array, at_once_unless_traced, is_traced, known, short_repr
from bayesnb.core.rows._checks import columns_of, quote


def check_num_classes(given: Any) -> int | None:
    """K as declared, or None."""
    if given is None:
        return None
    check_counts(num_classes=given)
    return int(given)


def check_model(given: Any) -> None:
    """Raises ValueError unless ``given`` is a model."""
    if not hasattr(given, "families"):
        raise ValueError(
            f"the first argument must be a model such as nb.NaiveBayes(nb.Normal()), got {type(given).__name__}"
        )


def check_key(given: Any) -> None:
    """Raises ValueError unless ``given`` is a single JAX PRNG key, and RuntimeError if JAX cannot run."""
    require_jax()
    dtype, shape = getattr(given, "dtype", None), getattr(given, "shape", None)
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    if not (shape == () if typed else dtype == np.uint32 and shape in ((2,), (4,))):
        raise ValueError(f"key must be a single JAX random key such as jax.random.key(0), got {given!r}")


def check_counts(**given: Any) -> None:
    """Raises ValueError unless every number is a positive int."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a positive int, got {value!r}")


def require_probability(**given: Any) -> None:
    """Raises ValueError unless every number is strictly between 0 and 1."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, float | int | np.number) or not 0 < value < 1:
            raise ValueError(f"{name} must be a probability above 0 and below 1, got {value!r}")


def is_number(value: Any) -> bool:
    """Whether it is one finite, real number, and not a boolean."""
    return np.ndim(value) == 0 and as_array(value).dtype.kind in "fiu" and bool(np.isfinite(value))


def check_factors(given: Any, blocks: list[str], name: str = "factor") -> dict[str, Any]:
    """A factor in [0, 1] for "label" and for each block, from one number or a dict of them by these names."""
    names = ["label", *blocks]
    given = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    if set(given) != set(names):
        raise ValueError(f"{name} must be a number, or a dict of one for each of {names}, got {[*given]}")
    for value in given.values():
        if not is_traced(value) and not (is_number(value) and 0 <= value <= 1):
            raise ValueError(f"{name} must be a number from 0, forget all, to 1, keep all, got {value!r}")
    return dict(given)


def require_integer_labels(needs: str, y: Any) -> None:
    """Raise ValueError for soft labels [N, K]; ``needs`` begins the sentence."""
    if as_array(y).ndim == 2:
        raise ValueError(f"{needs} integer labels [N]: a row with soft labels belongs to every class")


def require_known(function: str, *values: Any) -> None:
    """Raises ValueError inside a JAX transformation, where the values of arrays are not known."""
    if is_traced(*values):
        raise ValueError(
            f"{function} cannot run inside a JAX transformation: call it with arrays whose values are known"
        )


def require_one_fit(model: Any) -> Any:
    """The model of a fit. ValueError if it is that of many fits, which ``jax.vmap`` returned."""
    if np.ndim(model.class_concentration) > 1:
        raise ValueError(
            f"these are {len(model.class_concentration)} fits, which jax.vmap stacked: use them in jax.vmap too, as in "
            "jax.vmap(lambda fit: fit.predict_proba(X))(fits)"
        )
    return model


def check_draws(one: Any, **given: Any) -> None:
    """Raises ValueError unless there is memory for this many draws, a positive int, each of the size of ``one``."""
    check_counts(**given)
    numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(one))
    for name, value in given.items():
        memory.require(8 * numbers * int(value), f"{name}={value:,}", "give fewer")


def check_total_count(names: list[str], num_rows: int, given: Any) -> Any:
    """The totals of generated rows, checked: a whole number or one for each row, by block if it is a dict."""
    if isinstance(given, Mapping):
        if not set(given) <= set(names):
            raise ValueError(
                f"total_count must name blocks whose totals vary, {quote(dict.fromkeys(names))}, got {quote(given)}"
            )
        return {name: check_total_count(names, num_rows, value) for name, value in given.items()}
    if given is None:
        return None
    if not names:
        raise ValueError("no block uses a total_count: leave it out")
    values = as_array(given)
    known = values.dtype.kind in "iuf" and values.shape in ((), (num_rows,))
    if not known or not ((values >= 0) & (values == np.floor(values)) & (values < np.inf)).all():
        raise ValueError(
            f"total_count must be a non-negative whole number, or one for each of the {num_rows} rows, got "
            f"{short_repr(given)}"
        )
    return values.astype(int)


def check_params(model: Any, given: Mapping[str, Any]) -> dict[str, Array]:
    """Parameters as arrays by site, checked against the model's sites and sizes; values are checked only if known."""
    if not hasattr(model, "families") or not isinstance(given, Mapping):
        raise ValueError(
            "parameters must be a dict of arrays by site for a NaiveBayes model, "
            f"got {type(given).__name__} for {type(model).__name__}"
        )
    sites = model.sites()
    if set(given) != set(sites):
        raise ValueError(f"params must have the sites {sites}, got {list(given)}")
    arrays = {name: as_array(given[name]) for name in sites}
    given, spelling, model = arrays, model.spelling, model.with_sites(None)
    for site in () if spelling is None else spelling.sites:
        if arrays[site.name].shape != site.shape:
            raise ValueError(f"params[{site.name!r}] must have the shape {site.shape}, got {arrays[site.name].shape}")
    arrays = arrays if spelling is None else spelling.read(arrays)
    probs = check_class_probs(arrays["class_probs"], model.num_classes)
    common = model.common_sites()
    for name, value in arrays.items():
        if name not in common and (value.ndim == 0 or value.shape[0] != probs.shape[0]):
            raise ValueError(
                f"params[{name!r}] must have {probs.shape[0]} classes on its first axis, got shape {value.shape}"
            )
    for block, of_block in model.block_params(arrays).items():
        family = model.families[block]
        with at_once_unless_traced(of_block):
            family.check_params(of_block, block)
        expected = model.columns[block] or family.declared_columns
        if expected not in (None, columns_of(family, of_block)):
            raise ValueError(
                f"params of block {block!r} have {columns_of(family, of_block)} columns, the model {expected}"
            )
    return given


def check_powers(given: Any, sizes: Mapping[str, int], what: str = "powers", most: float = np.inf) -> dict[str, Array]:
    """Powers by block, [P] of blocks of P features or [1], from a dict of these or of numbers, a number or all, [F]."""
    if not isinstance(given, Mapping):
        flat, total = as_array(given), sum(sizes.values())
        if flat.shape not in ((), (total,)):
            raise ValueError(f"{what} must be a number, or one for each of {total} features, got shape {flat.shape}")
        ends = np.cumsum([*sizes.values()])
        own = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        given = {name: flat[own[name]] if flat.ndim else flat for name in sizes}
    if set(given) != set(sizes):
        raise ValueError(f"{what} must have the blocks {[*sizes]}, got {[*given]}")
    arrays = {name: as_array(given[name]) for name in sizes}
    arrays = {name: power if power.ndim else power.reshape(1) for name, power in arrays.items()}
    bound = "" if most == np.inf else f" and at most {most:g}"
    for name, power in arrays.items():
        if power.dtype.kind not in "iuf" or power.shape not in ((1,), (sizes[name],)):
            raise ValueError(
                f"{what}[{name!r}] must be one number, or one for each of {sizes[name]} features, got "
                f"{power.dtype} of shape {power.shape}"
            )
        if (values := known(power)) is not None and not ((values >= 0) & (values < np.inf) & (values <= most)).all():
            got = short_repr(values.tolist())
            raise ValueError(f"{what}[{name!r}] must be finite and not negative{bound}, got {got}")
    return {name: arrays[name] if arrays[name].dtype.kind == "f" else arrays[name].astype(float) for name in sizes}


def check_class_probs(probs: Any, num_classes: int | None = None, name: str = "class_probs") -> Array:
    """Class probabilities [K] that are non-negative and sum to one."""
    probs = as_array(probs)
    if probs.dtype.kind in "bOUSMmc":
        raise ValueError(f"{name} must be numbers, one per class, got dtype {probs.dtype}")
    if probs.ndim != 1 or (num_classes is not None and probs.shape[0] != num_classes):
        raise ValueError(f"{name} must be one probability per class, [{num_classes or 'K'}], got shape {probs.shape}")
    if (values := known(probs)) is not None:
        numbers = values.astype(np.float64)
        if not (numbers >= 0).all() or abs(numbers.sum() - 1) > 1e-5:
            raise ValueError(
                f"{name} must be non-negative and sum to 1, got {numbers.tolist()} with sum {numbers.sum():g}"
            )
    return probs
