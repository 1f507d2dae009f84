"""Check models, statistics and results loaded from files like user input, but with the shapes of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import jax
import numpy as np

from bayesnb.arrays.class_table import is_class_table
from bayesnb.arrays.placement import allow_promotion, to_double
from bayesnb.families.parts.support import require_axes, require_finite_numbers, require_simplex
from bayesnb.families.powers import num_powers
from bayesnb.files.storage.saved_families import check_resolved
from bayesnb.files.storage.saved_forests import check_forest
from bayesnb.fits.averaged import AveragedPosterior
from bayesnb.fits.bootstrap import Bootstrap
from bayesnb.fits.em import EMEstimate
from bayesnb.fits.empirical import EmpiricalPosterior
from bayesnb.fits.hierarchical import HierarchicalDraws
from bayesnb.fits.multilabel import MultiLabel
from bayesnb.forests.results import ForestPosterior, ForestStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.nonconjugate import hyperpriors
from bayesnb.model.spelling import CONSTRAINTS
from bayesnb.results.classifier import PointEstimate, Posterior
from bayesnb.results.draws import Draws
from bayesnb.rows import arguments
from bayesnb.rows.checks import check_fit, match_statistics
from bayesnb.rows.packing import columns_behind, columns_of
from bayesnb.rows.statistics import ModelStatistics


def check_saved_model(model: NaiveBayes) -> None:
    """Raise ValueError unless the model is one that a user could define, or that data could resolve."""
    families: Mapping[str, Any] = model.families
    columns = model.columns
    if not isinstance(model.single, bool) or (model.single and list(families) != ["x"]):
        raise ValueError(f"the only block of a model is named 'x', got single={model.single!r} with {list(families)}")
    sizes = set(columns.values())
    if set(columns) != set(families) or not (sizes == {None} or all(type(size) is int and size >= 0 for size in sizes)):
        raise ValueError(f"columns must be the number of columns of each block {list(families)}, got {columns!r}")
    concentration = model.class_concentration
    num_classes: Any = arguments.check_num_classes(model.num_classes)
    if not model.resolved:
        for family in families.values():
            family.__post_init__()  # the checks of its constructor
    else:
        axes = (("class_concentration", "K"),)
        require_axes("NaiveBayes", {"class_concentration": concentration}, axes, {"K": num_classes})
        for name, family in families.items():
            size: Any = columns[name]
            if family.declared_columns not in (None, size):
                raise ValueError(f"block {name!r} has {size} columns, and its family {family.declared_columns}")
            check_resolved(family, name, num_classes, size)
            check_fit(family, np.zeros((0, size)), name)
    if model.spelling is not None:
        _check_spelling(model)
    NaiveBayes(
        families["x"] if model.single else families,
        class_concentration=model.class_concentration,
        class_probs=model.class_probs,
        num_classes=model.num_classes,
        priors=model.priors,
    )


def _check_spelling(model: NaiveBayes) -> None:
    """Raise ValueError unless the spelling has sites for all parameters of the model, through known links."""
    spelling: Any = model.spelling
    own_shapes, shapes = ({s.name: s.shape for s in sites} for sites in (spelling.canonical, spelling.sites))
    pairs = [(site, own_shapes) for site in spelling.sites] + [(site, shapes) for site in spelling.canonical]
    for site, of_sources in pairs:
        if site.constraint not in CONSTRAINTS or not all(part.is_sound() for part in site.parts):
            raise ValueError(f"the spelling of site {site.name!r} has an unknown link or support")
        for part in site.parts:
            size = int(np.prod(of_sources[part.source])) if part.source in of_sources else 0
            if not ((part.taken.values >= 0) & (part.taken.values < size)).all():
                raise ValueError(f"the spelling of site {site.name!r} takes elements that {part.source!r} lacks")
        placed = np.concatenate([part.placed.values for part in site.parts])
        if not np.array_equal(np.sort(placed), np.arange(int(np.prod(site.shape)))):
            raise ValueError(f"the spelling of site {site.name!r} must place every element once")
    own = set(model.respell(None).sites()) - {"class_probs"}
    if not own <= {site.name for site in spelling.canonical} or {c.block for c in spelling.cells} != set(
        model.families
    ):
        raise ValueError("the spelling must have all parameters and blocks of the model")


def check_statistics(statistics: ModelStatistics, model: NaiveBayes | None = None) -> None:
    """Raise ValueError unless the statistics are possible for some rows (of the model, if given)."""
    counts = statistics.class_counts
    require_axes("statistics", {"class_counts": counts}, (("class_counts", "K"),), {"K": np.size(counts)})
    if not ((np.asarray(counts) >= 0) & np.isfinite(np.asarray(counts, np.float64))).all():
        raise ValueError("statistics: class_counts must be finite and not negative")
    statistics.named(statistics.classes)  # checks the labels
    for name, of_block in statistics.blocks.items():
        of_block.check(name, len(counts))
    if model is None:
        return
    match_statistics(model.families, model.num_classes, model.resolved, statistics)
    for name, columns in model.columns.items():
        if columns not in (None, found := columns_behind(model.families[name], statistics.blocks[name])):
            raise ValueError(f"block {name!r} has {columns} columns in the model and {found} in the statistics")


@singledispatch
def check_result(result: Any) -> None:
    """Raise ValueError, naming the part, unless the result is one that a fit or a user could have made."""
    raise ValueError(f"a {type(result).__name__} is not a result")


check_result.register(NaiveBayes, check_saved_model)
check_result.register(ModelStatistics, check_statistics)


@check_result.register
def _(result: PointEstimate) -> None:
    check_saved_model(result.model)
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
        check_saved_model(model)
        if not model.resolved:
            raise ValueError(f"the {name} of a posterior must be resolved, with the columns of each block")
        check_statistics(result.statistics, model)
    require_alike(result.prior, result.model)
    if result.weights is not None:
        _check_by_feature("weights", result.weights, result.model, powers=True)
        for name, weight in result.weights.items():
            if not ((np.asarray(weight) >= 0) & (np.asarray(weight) < np.inf)).all():
                raise ValueError(f"weights[{name!r}] must be finite and not negative")


@check_result.register
def _(result: EmpiricalPosterior) -> None:
    check_result.dispatch(Posterior)(result)
    terms = {"start_log_evidence": result.start_log_evidence, "log_hyperprior": result.log_hyperprior}
    require_finite_numbers("EmpiricalPosterior", **terms)


@check_result.register
def _(result: AveragedPosterior) -> None:
    check_result(result.posterior)
    model = result.model
    pooled = model.with_hyperparameters(result.pooled, model.class_concentration)
    require_alike(model, pooled)
    for name, family in result.pooled.items():
        columns: Any = model.columns[name]
        check_resolved(family, name, 1, columns)
    _check_by_feature("log_odds", result.log_odds, model)


@check_result.register
def _(result: ForestStatistics) -> None:
    check_statistics(result)
    result.pairs.check()


@check_result.register
def _(result: ForestPosterior) -> None:
    check_result(result.posterior)
    check_forest(result)


@check_result.register
def _(result: Draws) -> None:
    check_saved_model(result.model)
    extra = hyperpriors(result.specification) if isinstance(result, HierarchicalDraws) else {}
    params: dict[str, Any] = dict(result.model.own_params(_numbers("params", result.params)))
    own = result.model.respell(None)
    _check_draws(own, {site: value for site, value in params.items() if site not in extra})
    num_draws = len(next(iter(params.values())))
    if type(result.num_chains) is not int or result.num_chains < 1 or num_draws % result.num_chains:
        raise ValueError(f"num_chains must divide the number of draws, {num_draws}, got {result.num_chains!r}")
    for site, law in extra.items():
        value = params.get(site, np.zeros(()))
        with allow_promotion():
            good = value.shape == (num_draws, *law.shape()) and np.isfinite(value).all()
            if not good or not np.all(law.support(value)):
                raise ValueError(f"params[{site!r}] must be {num_draws} draws in the support of {law!r}")


@check_result.register
def _(result: HierarchicalDraws) -> None:
    check_saved_model(result.specification)
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


def _numbers(owner: str, given: Any) -> dict[str, np.ndarray[Any, Any]]:
    for name, value in given.items():
        sizes = {str(axis): size for axis, size in enumerate(np.shape(value))}
        require_axes(owner, given, ((name, "".join(sizes)),), sizes)
    return {n: value if is_class_table(value) else np.asarray(value, np.float64) for n, value in given.items()}


def _check_by_feature(owner: str, given: Any, model: NaiveBayes, *, powers: bool = False) -> None:
    """Raise ValueError unless each block has one number per feature, [D], or per power, or a single number, [1]."""
    arrays = _numbers(owner, given)
    if set(arrays) != set(model.families):
        raise ValueError(f"{owner} must have the blocks {list(model.families)}, got {list(arrays)}")
    for name, value in arrays.items():
        size = num_powers(model.families[name], model.columns[name] or 0) if powers else model.columns[name]
        if value.shape not in ((1,), (size,)) or np.isnan(value).any():
            raise ValueError(f"{owner}[{name!r}] must be one number or one for each column, got shape {value.shape}")


def _check_draws(model: NaiveBayes, params: dict[str, Any]) -> None:
    """Raise ValueError unless each draw, on the first axis, is a valid set of the model's parameters."""
    if set(params) != set(model.sites()):
        raise ValueError(f"params must have the sites {model.sites()}, got {list(params)}")
    params, model = dict(model.own_params(params)), model.respell(None)
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
            columns = columns_of(family, draw)
            if model.columns[block] not in (None, columns):
                raise ValueError(f"params of block {block!r} have {columns} columns, not the model's")
