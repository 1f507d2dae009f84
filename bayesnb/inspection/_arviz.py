"""Export draws to ArviZ with named dimensions, as InferenceData (ArviZ 0.x) or as a DataTree (ArviZ 1.x).

Dimensions have the names of the program's plates: ``classes``, ``x_features`` and ``rows``; ``x_categories`` is added
for Categorical blocks, and ``x_features_other`` for the second axis of a covariance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer.util import compute_log_probs

from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._extras import needed_by
from bayesnb.compute.arrays._placement import allow_promotion, fill_masked, leading_size, to_host
from bayesnb.compute.arrays._typing import Array, FeatureNames, LabelsLike, Rows
from bayesnb.compute.numerics._log_prob import logsumexp
from bayesnb.core.families import Categorical, Histogram, Mapped, MultivariateNormal
from bayesnb.core.families._views import generative
from bayesnb.core.fits._em import has_unlabelled
from bayesnb.core.fits._nuts import HierarchicalDraws
from bayesnb.core.model._declarations import fill_hyperpriors, sample_hyperparameters
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._display_names import check_list, check_lists
from bayesnb.core.results._draws import Draws
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_values
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.inspection._compare_evidence import density_share

Dims = dict[str, list[str]]
"""The dimensions of each variable, without chain and draw."""

Coords = dict[str, list[Any]]
"""The labels along each dimension."""

MEASURES = "probability", "density, probability at its point masses", "density"
"""What the cells of a column have: none, some and all of them a density."""

SAMPLE_STATS = {"num_steps": "n_steps", "accept_prob": "acceptance_rate"}
"""ArviZ's names for NumPyro's sampler statistics; ``diverging`` is the same in both."""


def to_arviz(
    result: Draws | Posterior,
    *,
    key: Array | None = None,
    num_samples: int = 1000,
    num_chains: int = 4,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    log_likelihood: bool | None = None,
) -> Any:
    """Draws of the parameters for ArviZ, with named dimensions and coordinates.

    The groups are ``posterior``; ``log_prior``, the log density of each site under its prior, with which ArviZ's
    ``psense`` finds how much prior and rows matter; ``sample_stats`` for draws by NUTS; with X and y
    ``observed_data``, ``constant_data`` if cells have their own totals, and ``log_likelihood`` with the variable
    ``log_joint``: log p(y_n, x_n | draw) of every row, [chain, draw, row], or log p(x_n | draw) of an unlabelled one.
    The attribute ``x_base_measure`` of block x says of each column if a cell has a "density" there or a "probability".
    ``arviz.loo`` estimates what ``leave_one_out(model, X, y, joint=True)`` computes exactly, at y_n: Vehtari, Gelman
    and Gabry, Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC (2017).

    Args:
        result: Draws from ``fit_nuts``, or an exact posterior, whose independent draws are shaped as chains.
        key: A ``jax.random.key``; it, num_samples per chain and num_chains are for an exact posterior only.
        num_samples: Draws per chain.
        num_chains: The number of chains.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a dict of them by block; 0..D-1 if not given.
        X: Rows as in the fit.
        y: Integers 0..K-1 [N], -1 for an unlabelled row.
        log_likelihood: Compute the log joint of the rows under every draw; by default if there are rows.

    Raises:
        ValueError: for a fit without draws, a missing key, names or rows that do not fit the model, X or y alone, more
            log likelihoods than there is memory for, and inside a JAX transformation.

    Example:
        >>> import jax, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1])
        >>> data = nb.to_arviz(post, key=jax.random.key(0), num_samples=50, class_names=["ham", "spam"])
        >>> dict(data.posterior["x_probs"].sizes)
        {'chain': 4, 'draw': 50, 'classes': 2, 'x_features': 2}
    """
    if not isinstance(result, Draws | Posterior):
        raise ValueError(
            "to_arviz takes a fit that has draws of the parameters: Draws from fit_nuts, or a Posterior from "
            f"fit_posterior; got {type(result).__name__}"
        )
    arguments.require_known("to_arviz", result, key, X, y)
    model = to_host(result.model)
    coords, dims = coordinates(model, class_names, feature_names)
    rows = _check_rows(model, X, y, bool(log_likelihood))
    groups = {}
    if isinstance(result, Draws):
        params, num_chains = result.params, result.num_chains
        stats = {SAMPLE_STATS.get(name, name): value for name, value in to_host(result.sample_stats).items()}
        groups["sample_stats"] = _by_chain(stats, num_chains)
    else:
        if key is None:
            raise ValueError("to_arviz samples from a Posterior: give key, such as key=jax.random.key(0)")
        arguments.check_counts(num_samples=num_samples, num_chains=num_chains)
        params = result.sample(key, num_samples * num_chains)
    log_prior = _by_chain(_log_priors(result, params), num_chains)
    # ArviZ computes in the precision of its input
    params = {site: np.asarray(value, np.float64) for site, value in params.items()}
    groups["posterior"] = _by_chain(params, num_chains)
    if rows is not None:
        coords["rows"] = list(range(len(rows[1])))
        data, totals = _observed_cells(model, X)
        groups["observed_data"] = {"label": rows[1], **data}
        if totals:
            groups["constant_data"] = totals
        by_cell = {name: ["rows", f"{block}_features"] for block in data for name in (block, f"{block}_total_count")}
        dims = {"log_joint": ["rows"], "label": ["rows"], **by_cell, **dims}
    if rows is not None and log_likelihood is not False:
        numbers = len(rows[1]) * leading_size(params)
        memory.require(
            8 * numbers, f"the log likelihood of {len(rows[1]):,} rows", "give log_likelihood=False, or fewer"
        )
        table = compute_rows(_log_joint, (model, params), rows).T + model.row_base_measure(rows[0])
        groups["log_likelihood"] = _by_chain({"log_joint": table}, num_chains)
    arviz = library("to_arviz")
    if arviz.__version__.startswith("0."):
        data = arviz.from_dict(**groups, coords=coords, dims=dims)
        data.add_groups({"log_prior": log_prior})
    else:
        data = arviz.from_dict(groups, coords=coords, dims=dims)
        data["log_prior"] = arviz.from_dict({"log_prior": log_prior})["log_prior"]
    for block, family in model.families.items():
        kinds = [MEASURES[int(np.ceil(share) + (share == 1))] for share in density_share(generative(family))]
        data.attrs[f"{block}_base_measure"] = kinds
    return data


def library(what: str) -> Any:
    """ArviZ, imported at first use since that takes seconds, without 0.23's warning about its successor."""
    with warnings.catch_warnings(), needed_by(what):
        warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing a major refactor", FutureWarning)
        import arviz
    return arviz


def coordinates(model: NaiveBayes, class_names: Any = None, feature_names: Any = None) -> tuple[Coords, Dims]:
    """The labels along each dimension, and the dimensions of each site of a resolved model."""
    num_classes, sizes = model.num_classes or 0, {block: int(size or 0) for block, size in model.columns.items()}
    classes = range(num_classes) if class_names is None else check_list("class_names", class_names, num_classes)
    coords, dims = {"classes": list(classes)}, {"class_probs": ["classes"]}
    given = check_lists(feature_names, sizes)
    for block, family in model.families.items():
        names = given.get(block, list(range(sizes[block])))
        coords[f"{block}_features"] = names
        for site in family.sites:
            axes = {
                f"{block}_{axis}": list(labels) for axis, labels in site_axes(generative(family), site, names).items()
            }
            coords |= axes
            dims[f"{block}_{site}"] = [*([] if site in family.common_sites else ["classes"]), *axes]
    if model.spelling is not None:  # ArviZ names the axes of a program's own sites
        spelled = {site.name for site in model.spelling.sites}
        dims = {name: axes for name, axes in dims.items() if name in model.sites() and name not in spelled}
    return coords, dims


def _by_chain(values: Mapping[str, Array], num_chains: int) -> dict[str, Array]:
    """Reshape [S, ...] to [chain, draw, ...]."""
    return {
        name: value.reshape(num_chains, len(value) // num_chains, *value.shape[1:]) for name, value in values.items()
    }


def _check_rows(model: NaiveBayes, X: Any, y: Any, needed: bool) -> Any:
    """The checked rows by block and their labels, as numpy arrays; None if none are given."""
    if X is None and y is None and needed:
        raise ValueError("log_likelihood=True needs the rows that were fitted: give X and y")
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError(f"give X and y together: {'X' if X is None else 'y'} is missing")
    if np.ndim(y) == 2:
        raise ValueError("to_arviz takes integer labels [N]: the joint log p(y, x) of a row is that of one class")
    labels = np.where(np.asarray(y) == -1, 0, y) if has_unlabelled(y) else y
    rows = label_rows(model, X, labels, sparse=False)
    check_values(rows.families, rows.arrays)
    return to_host((rows.arrays, y))


def _observed_cells(model: NaiveBayes, X: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    """The cells by block as given, and the totals of blocks of pairs (successes, totals)."""
    X = model.by_block(X)
    given = {block: X if model.single else X[block] for block in model.families}
    parts = {block: cells if isinstance(cells, tuple) else (cells,) for block, cells in given.items()}
    data: dict[str, Array] = {block: np.asarray(fill_masked(cells[0])) for block, cells in parts.items()}
    return data, {f"{b}_total_count": np.asarray(fill_masked(cells[1])) for b, cells in parts.items() if cells[1:]}


@jax.jit
def _log_joint(model: NaiveBayes, params: Sites, rows: tuple[dict[str, Array], Array]) -> Array:
    """log p(y_n, x_n | draw), or log p(x_n | draw) for unlabelled rows, excluding the base measure, [N, S]."""
    arrays, y = rows

    def of_draw(draw: Sites) -> Array:
        table = model.log_likelihood(draw, arrays).log()
        own = jnp.take_along_axis(table, jnp.maximum(y, 0)[:, None], axis=1)[:, 0]
        return jnp.where(y < 0, logsumexp(table), own)

    return jax.lax.map(of_draw, params).T


def _log_priors(result: Draws | Posterior, params: Sites) -> Sites:
    """The log prior density of each site at every draw, [S]."""
    given: tuple[Any, Any] = getattr(result, "prior", result.model), None
    if isinstance(result, HierarchicalDraws):
        given = result.specification.with_sites(result.model.spelling), result.statistics
    return compute(_log_prior, *to_host((*given, params)))


@jax.jit
def _log_prior(model: NaiveBayes, statistics: ModelStatistics | None, params: Sites) -> Sites:
    names = {} if model.spelling is None else {own: name for name, own in model.spelling.hyper}

    def program() -> None:
        values = sample_hyperparameters(model, names)
        fill_hyperpriors(model, values).resolve(statistics=statistics).params()

    def of_draw(draw: Sites) -> Sites:
        def value(site: Any) -> Array | None:
            found = draw.get(site["name"]) if site["type"] == "sample" else None
            return found.astype(int) if found is not None and site["fn"].support.is_discrete else found

        given = handlers.substitute(program, substitute_fn=value)
        return compute_log_probs(given, (), {}, {}, sum_log_prob=False)[0]

    with allow_promotion():
        tables = jax.vmap(of_draw)(params)
    for name, table in tables.items():
        # a column of one value has neither mean nor variance, and no draw a density
        none = ~jnp.isfinite(table).any(axis=0) & (table.shape == params[name].shape)
        tables[name] = jnp.where(none[None], 0.0, table).reshape(len(table), -1).sum(axis=1)
    return tables


Axes = Mapping[str, Sequence[Any]]
"""The labels along each axis, by name of the axis."""


@singledispatch
def site_axes(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    """The axes of a site except that of classes."""
    del family, site
    return {"features": columns}


def site_labels(family: Any, site: str, columns: Sequence[str]) -> tuple[str, ...]:
    """A label for each entry of a site in one class, such as ``colour = 2`` for a category."""
    axes = {**site_axes(generative(family), site, columns)}
    first = next(iter(axes))
    if first.startswith("categories_"):  # a site for each column
        axes = {"features": [columns[int(first.removeprefix("categories_"))]], **axes}
    between = " = " if any(axis.startswith("categories") for axis in axes) else ", "
    return tuple(between.join(map(str, names)) for names in product(*axes.values()))


@site_axes.register(Categorical)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    sizes = family.category_sizes(1)
    if not family.site_a_column:
        return {"features": columns, "categories": range(max(sizes, default=1))}
    place = int(site.removeprefix("probs_"))
    return {f"categories_{place}": range(sizes[place])}


@site_axes.register(Mapped)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    if site == "atoms":
        return {"features": columns, "categories": family.value_names}
    return site_axes(family.parts[0], site, columns)


@site_axes.register(MultivariateNormal)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    del family
    return {"features": columns} | ({"features_other": columns} if site == "covariance" else {})


@site_axes.register(Histogram)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    axes: dict[str, Axes] = {
        "probs": {"cells": range(family.cells)}, "cuts": {"edges": range(family.cells - 1)}, "total": {}
    }  # fmt: skip
    return {"features": columns, **axes[site]}


def elpd_data(log_proba: Array) -> Any:
    """Exact log p(y_i | x_i, the other rows) [N] as ArviZ's ``ELPDData``, for ``az.compare``.

    Nothing was sampled: every Pareto k is 0, and the effective number of parameters is unknown, NaN. Vehtari, Gelman,
    Gabry, Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC (2017).
    """
    import arviz as az
    import xarray as xr

    rows = xr.DataArray(log_proba, dims="rows", name="loo_i")
    elpd, se = float(rows.sum()), float(np.sqrt(len(rows) * np.var(log_proba)))
    about = {"n_samples": 1, "n_data_points": len(rows), "warning": False, "pareto_k": xr.zeros_like(rows)}
    about |= {"scale": "log", "good_k": 0.7}
    if hasattr(az, "ELPDDataLOO"):  # ArviZ 1.x
        return az.ELPDDataLOO(elpd=elpd, se=se, p=np.nan, elpd_i=rows, **about)
    from arviz.stats.stats_utils import ELPDData

    named = {"elpd_loo": elpd, "se": se, "p_loo": np.nan, **about, "loo_i": rows}  # it prints the first three
    return ELPDData(data=[*named.values()], index=[*named])
