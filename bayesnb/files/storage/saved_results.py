"""Check results loaded from files like user input: parameters, posteriors, draws."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import jax
import numpy as np

from bayesnb.arrays.placement import to_double
from bayesnb.families.parts.support import require_axes, require_finite, require_simplex
from bayesnb.files.storage.saved_models import check_model, check_statistics
from bayesnb.fits.averaged import AveragedPosterior
from bayesnb.fits.bootstrap import Bootstrap
from bayesnb.fits.em import EMEstimate
from bayesnb.fits.empirical import EmpiricalPosterior
from bayesnb.fits.hierarchical import HierarchicalDraws
from bayesnb.fits.multilabel import MultiLabel
from bayesnb.model.hyperpriors import hyperpriors
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import PointEstimate, Posterior
from bayesnb.results.draws import Draws
from bayesnb.rows import arguments
from bayesnb.rows.statistics import ModelStatistics


@singledispatch
def check_result(result: Any) -> None:
    """Raise ValueError, naming the part, unless the result is one that a fit or a user could have made."""
    raise ValueError(f"a {type(result).__name__} is not a result")


check_result.register(NaiveBayes, check_model)
check_result.register(ModelStatistics, check_statistics)


@check_result.register
def _(result: PointEstimate) -> None:
    check_model(result.model)
    arguments.check_params(result.model, _numbers("params", result.params))


@check_result.register
def _(result: EMEstimate) -> None:
    check_result.dispatch(PointEstimate)(result)
    trace = _numbers("EMEstimate", {"log_posterior": result.log_posterior})["log_posterior"]
    if trace.ndim != 1 or np.isnan(trace).any():
        raise ValueError("log_posterior must be one number for each iteration")


@check_result.register
def _(result: Posterior) -> None:
    for name, model in (("prior", result.prior), ("model", result.model)):
        check_model(model)
        if not model.resolved:
            raise ValueError(f"the {name} of a posterior must be resolved, with the columns of each block")
        check_statistics(result.statistics, model)
    require_alike(result.prior, result.model)
    if result.weights is not None:
        _check_by_feature("weights", result.weights, result.model)
        for name, weight in result.weights.items():
            if not ((np.asarray(weight) >= 0) & (np.asarray(weight) < np.inf)).all():
                raise ValueError(f"weights[{name!r}] must be finite and not negative")


@check_result.register
def _(result: EmpiricalPosterior) -> None:
    check_result.dispatch(Posterior)(result)
    require_finite("EmpiricalPosterior", start_log_evidence=result.start_log_evidence)
    for name, of_block in result.at_bound.items():
        _require_arrays(f"at_bound[{name!r}]", of_block)


@check_result.register
def _(result: AveragedPosterior) -> None:
    check_result(result.posterior)
    model = result.model
    pooled = model.with_hyperparameters(result.pooled, model.class_concentration)
    require_alike(model, pooled)
    for name, family in result.pooled.items():
        columns: Any = model.columns[name]
        family.check_resolved(name, 1, columns)
    _check_by_feature("log_odds", result.log_odds, model)


@check_result.register
def _(result: Draws) -> None:
    check_model(result.model)
    extra = hyperpriors(result.specification) if isinstance(result, HierarchicalDraws) else {}
    params = _numbers("params", result.params)
    _check_draws(result.model, {site: value for site, value in params.items() if site not in extra})
    num_draws = len(params["class_probs"])
    if type(result.num_chains) is not int or result.num_chains < 1 or num_draws % result.num_chains:
        raise ValueError(f"num_chains must divide the number of draws, {num_draws}, got {result.num_chains!r}")
    _require_arrays("sample_stats", result.sample_stats)
    for site, law in extra.items():
        value = params.get(site, np.zeros(()))
        # NumPyro's own distributions promote ranks
        with jax.numpy_rank_promotion("allow"):
            good = value.shape == (num_draws, *law.shape()) and np.isfinite(value).all()
            if not good or not np.all(law.support(value)):
                raise ValueError(f"params[{site!r}] must be {num_draws} draws in the support of {law!r}")


@check_result.register
def _(result: HierarchicalDraws) -> None:
    check_model(result.specification)
    check_result.dispatch(Draws)(result)
    require_alike(result.specification, result.model)
    check_statistics(result.statistics, result.model)


@check_result.register
def _(result: Bootstrap) -> None:
    check_result(result.estimate)
    params = _numbers("params", result.params)
    _check_draws(result.estimate.model, params)
    for site, value in params.items():
        if value.shape[1:] != np.shape(result.estimate.params[site]):
            raise ValueError(f"params[{site!r}] must be replicates of the estimate's array, got shape {value.shape}")


@check_result.register
def _(result: MultiLabel) -> None:
    fits = to_double(result.fits)
    sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(fits)}
    if len(sizes) != 1 or not all(sizes):
        raise ValueError("the arrays of a MultiLabel must have the labels on their first axis")
    for index in range(MultiLabel(fits).num_labels):
        check_result(MultiLabel(fits).label(index))


def require_alike(model: NaiveBayes, other: NaiveBayes) -> None:
    """Raise ValueError unless both have the same blocks, classes and, if known, columns."""
    expected, found = _layout(model), _layout(other)
    for name, value in expected.items():
        if None not in (value, found[name]) and value != found[name]:
            raise ValueError(f"the parts of a result must have the same {name}, got {value} and {found[name]}")


def _layout(model: NaiveBayes) -> dict[str, Any]:
    blocks = {name: type(family).__name__ for name, family in model.families.items()}
    columns = model.columns if model.resolved else None
    return {"blocks": blocks, "num_classes": model.num_classes, "columns": columns, "single": model.single}


def _require_arrays(owner: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not all(hasattr(value, "dtype") for value in given.values()):
        raise ValueError(f"{owner} must be arrays by name, got {given!r}")


def _numbers(owner: str, given: Any) -> dict[str, np.ndarray[Any, Any]]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{owner} must be arrays by name, got {type(given).__name__}")
    for name, value in given.items():
        sizes = {str(axis): size for axis, size in enumerate(np.shape(value))}
        require_axes(owner, given, ((name, "".join(sizes)),), sizes)
    return {name: np.asarray(value, np.float64) for name, value in given.items()}


def _check_by_feature(owner: str, given: Any, model: NaiveBayes) -> None:
    """Raise ValueError unless each block has one number per feature, [D], or a single number, [1]."""
    arrays = _numbers(owner, given)
    if set(arrays) != set(model.families):
        raise ValueError(f"{owner} must have the blocks {list(model.families)}, got {list(arrays)}")
    for name, value in arrays.items():
        if value.shape not in ((1,), (model.columns[name],)) or np.isnan(value).any():
            raise ValueError(f"{owner}[{name!r}] must be one number or one for each column, got shape {value.shape}")


def _check_draws(model: NaiveBayes, params: dict[str, np.ndarray[Any, Any]]) -> None:
    """Raise ValueError unless each draw, on the first axis, is a valid set of the model's parameters."""
    if set(params) != set(model.sites()):
        raise ValueError(f"params must have the sites {model.sites()}, got {list(params)}")
    probs, common = params["class_probs"], model.common_sites()
    if probs.ndim != 2 or not len(probs) or model.num_classes not in (None, probs.shape[1]):
        raise ValueError(f"params['class_probs'] must be draws [S, {model.num_classes or 'K'}], got {probs.shape}")
    require_simplex("class", "probs", probs)
    for site, value in params.items():
        shape = probs.shape[:1] if site in common else probs.shape
        if value.shape[: len(shape)] != shape:
            raise ValueError(f"params[{site!r}] must begin with the axes {shape}, got shape {value.shape}")
    for block, of_block in model.block_params(params).items():
        family = model.families[block]
        if family.common_sites:
            draws = [{site: value[s] for site, value in of_block.items()} for s in range(len(probs))]
        else:  # check S draws of K classes as one set of S * K classes
            draws = [{site: value.reshape(probs.size, *value.shape[2:]) for site, value in of_block.items()}]
        for draw in draws:
            family.check_params(draw, block)
            columns = family.columns_of(draw)
            if model.columns[block] not in (None, columns):
                raise ValueError(f"params of block {block!r} have {columns} columns, not the model's")
