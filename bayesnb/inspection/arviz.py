"""Export draws to ArviZ with named dimensions, as InferenceData (ArviZ 0.x) or as a DataTree (ArviZ 1.x).

Dimensions have the names of the program's plates: ``classes``, ``x_features`` and ``rows``; ``x_categories`` is added
for Categorical blocks, and ``x_features_other`` for the second axis of a covariance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.masked import filled
from bayesnb.arrays.placement import Array, is_traced, to_host
from bayesnb.fits.em import has_unlabelled
from bayesnb.inspection.names import checked
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.log_prob import logsumexp
from bayesnb.primitives import products
from bayesnb.results.classifier import Posterior
from bayesnb.results.draws import Draws
from bayesnb.rows import arguments
from bayesnb.rows.checks import check_values
from bayesnb.rows.labelled_rows import label_rows

Dims = dict[str, list[str]]
"""The dimensions of each variable, without chain and draw."""

Coords = dict[str, list[Any]]
"""The labels along each dimension."""

SAMPLE_STATS = {"num_steps": "n_steps", "accept_prob": "acceptance_rate"}
"""ArviZ's names for NumPyro's sampler statistics; ``diverging`` is the same in both."""


def to_arviz(
    result: Draws | Posterior,
    *,
    key: Array | None = None,
    num_samples: int = 1000,
    num_chains: int = 4,
    class_names: Iterable[Any] | None = None,
    feature_names: Iterable[Any] | Mapping[str, Iterable[Any]] | None = None,
    X: Any = None,
    y: Any = None,
    log_likelihood: bool = False,
) -> Any:
    """Draws of the parameters for ArviZ, with named dimensions and coordinates.

    The groups are ``posterior``; ``sample_stats`` for draws by NUTS; with X and y ``observed_data``, and
    ``constant_data`` if cells have their own totals; with ``log_likelihood`` the variable ``log_joint``, which is
    log p(y_n, x_n | draw) of every row, [chain, draw, row], or log p(x_n | draw) for an unlabelled row. ``arviz.loo``
    estimates from it what ``leave_one_out(model, X, y, joint=True)`` computes exactly, at y_n: Vehtari, Gelman and
    Gabry, Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC (2017).

    Args:
        result: Draws from ``fit_nuts``, or an exact posterior, whose independent draws are shaped as chains.
        key: A ``jax.random.key``, for the draws from an exact posterior.
        num_samples: Draws per chain from an exact posterior.
        num_chains: The number of chains from an exact posterior.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a dict of them by block; 0..D-1 if not given.
        X: Rows as in the fit: an array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], -1 for an unlabelled row.
        log_likelihood: Compute the log joint of the rows under every draw.

    Returns:
        An ``arviz.InferenceData`` under ArviZ 0.x, an ``xarray.DataTree`` under ArviZ 1.x.

    Raises:
        ValueError: for a fit without draws, a missing key, names or rows that do not fit the model, X without y or y
            without X, and inside a JAX transformation.
    """
    if not isinstance(result, Draws | Posterior):
        raise ValueError(
            "to_arviz takes a fit that has draws of the parameters: Draws from fit_nuts, or a Posterior from "
            f"fit_posterior; got {type(result).__name__}"
        )
    if is_traced(result, key, X, y):
        raise ValueError("to_arviz cannot run inside a JAX transformation: call it with values that are known")
    model = to_host(result.model)
    coords, dims = coordinates(model, class_names, feature_names)
    rows = _rows(model, X, y, log_likelihood)
    params, num_chains = _draws(result, key, num_samples, num_chains)
    groups = {"posterior": _chains(params, num_chains)}
    if isinstance(result, Draws):
        stats = {SAMPLE_STATS.get(name, name): value for name, value in to_host(result.sample_stats).items()}
        groups["sample_stats"] = _chains(stats, num_chains)
    if rows is not None:
        coords["rows"] = list(range(len(rows[1])))
        data, totals = _observed(model, X)
        groups["observed_data"] = {"label": rows[1], **data}
        if totals:
            groups["constant_data"] = totals
        by_cell = {name: ["rows", f"{block}_features"] for block in data for name in (block, _total_count(block))}
        dims = {"log_joint": ["rows"], "label": ["rows"], **by_cell, **dims}
    if log_likelihood:
        table = products.by_rows(_log_joint, (model, params), rows).T + model.row_base_measure(rows[0])
        groups["log_likelihood"] = _chains({"log_joint": table}, num_chains)
    arviz = library()
    if arviz.__version__.startswith("0."):
        return arviz.from_dict(**groups, coords=coords, dims=dims)
    return arviz.from_dict(groups, coords=coords, dims=dims)


def library() -> Any:
    """Import ArviZ on first use, as it takes seconds, and suppress the warning of 0.23 about its successor."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing a major refactor", FutureWarning)
        import arviz
    return arviz


def coordinates(model: NaiveBayes, class_names: Any = None, feature_names: Any = None) -> tuple[Coords, Dims]:
    """The labels along each dimension, and the dimensions of each site of a resolved model."""
    coords = {"classes": _names("class_names", class_names, model.num_classes)}
    dims = {"class_probs": ["classes"]}
    given = _by_block(model, feature_names)
    for block, family in model.families.items():
        features = f"{block}_features"
        names = _names(f"feature_names of block {block!r}", given.get(block), model.columns[block])
        coords[features] = names
        for site in family.sites:
            axes = {f"{block}_{axis}": list(labels) for axis, labels in family.site_axes(site, names).items()}
            coords |= axes
            dims[f"{block}_{site}"] = [*([] if site in family.common_sites else ["classes"]), *axes]
    return coords, dims


def _by_block(model: NaiveBayes, given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    blocks = ", ".join(repr(block) for block in model.families)
    if not isinstance(given, Mapping):
        if not model.single:
            raise ValueError(
                f"the model has the blocks {blocks}: feature_names is a dict of lists by those names, got a "
                f"{type(given).__name__}"
            )
        return {"x": given}
    unknown = [name for name in given if name not in model.families]
    if unknown:
        raise ValueError(f"feature_names has the block {unknown[0]!r}, the model has {blocks}")
    return given


def _names(what: str, given: Any, size: Any) -> list[Any]:
    if given is None:
        return list(range(size))
    given = given if isinstance(given, str | Mapping) or not isinstance(given, Iterable) else list(given)
    checked(what, given, size)
    return given


def _draws(result: Draws | Posterior, key: Any, num_samples: int, num_chains: int) -> tuple[Sites, int]:
    """Parameters by site, each [S, ...], chain after chain, and the number of chains."""
    if isinstance(result, Draws):
        return _float64(result.params), result.num_chains
    if key is None:
        raise ValueError("a Posterior is drawn from: give key, such as key=jax.random.key(0)")
    arguments.counts(num_samples=num_samples, num_chains=num_chains)
    return _float64(result.sample(key, num_samples * num_chains)), num_chains


def _float64(params: Sites) -> Sites:
    """Convert to float64: ArviZ computes in the precision of its input."""
    return {site: np.asarray(value, np.float64) for site, value in params.items()}


def _chains(values: Mapping[str, Array], num_chains: int) -> dict[str, Array]:
    """Reshape [S, ...] to [chain, draw, ...]."""
    return {
        name: value.reshape(num_chains, len(value) // num_chains, *value.shape[1:]) for name, value in values.items()
    }


def _rows(model: NaiveBayes, X: Any, y: Any, needed: bool) -> Any:
    """The checked rows by block and their labels, as numpy arrays; None if none are given."""
    if X is None and y is None:
        if needed:
            raise ValueError("log_likelihood=True needs the rows that were fitted: give X and y")
        return None
    if X is None or y is None:
        raise ValueError(f"observed rows are X and y together, {'X' if X is None else 'y'} is missing")
    if np.ndim(y) == 2:
        raise ValueError("to_arviz takes integer labels [N]: the joint log p(y, x) of a row is that of one class")
    labelled = np.where(np.asarray(y) == -1, 0, y) if has_unlabelled(y) else y
    rows = label_rows(model, X, labelled, sparse=False)
    check_values(rows.families, rows.arrays)
    return to_host((rows.arrays, y))


def _observed(model: NaiveBayes, X: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    """The cells by block as given, and the totals of blocks that are pairs (successes, totals)."""
    blocks = {"x": X} if model.single else X
    parts: dict[str, tuple[Any, ...]] = {
        block: blocks[block] if isinstance(blocks[block], tuple) else (blocks[block],) for block in model.families
    }
    totals = {_total_count(block): np.asarray(filled(cells[1])) for block, cells in parts.items() if len(cells) == 2}
    return {block: np.asarray(filled(cells[0])) for block, cells in parts.items()}, totals


def _total_count(block: str) -> str:
    return f"{block}_total_count"


@jax.jit
def _log_joint(model: NaiveBayes, params: Sites, rows: tuple[dict[str, Array], Array]) -> Array:
    """log p(y_n, x_n | draw), or log p(x_n | draw) for unlabelled rows, excluding the base measure, [N, S]."""
    arrays, y = rows

    def of_draw(draw: Sites) -> Array:
        table = model.log_likelihood(draw, arrays).log()
        own = jnp.take_along_axis(table, jnp.maximum(y, 0)[:, None], axis=1)[:, 0]
        return jnp.where(y < 0, logsumexp(table), own)

    return jax.lax.map(of_draw, params).T
