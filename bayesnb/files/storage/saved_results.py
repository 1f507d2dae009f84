"""Check models, statistics and results loaded from files like user input, but with the shapes of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import jax
import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.class_table import is_class_table
from bayesnb.arrays.placement import allow_promotion, to_double
from bayesnb.families import Multinomial, MultivariateNormal, Normal, Views
from bayesnb.families.base import num_powers
from bayesnb.families.hyperparameters import values_of
from bayesnb.families.parts.support import BOUND, require_axes, require_finite_numbers
from bayesnb.fits.averaged import AveragedPosterior
from bayesnb.fits.bootstrap import Bootstrap
from bayesnb.fits.em import EMEstimate
from bayesnb.fits.empirical import EmpiricalPosterior
from bayesnb.fits.hierarchical import HierarchicalDraws
from bayesnb.fits.multilabel import MultiLabel
from bayesnb.forests.columns import category_sizes
from bayesnb.forests.results import ForestPosterior, ForestStatistics
from bayesnb.forests.structures import STRUCTURES, is_forest
from bayesnb.model.declarations import hyperpriors
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.spelling import CONSTRAINTS
from bayesnb.numerics.covariances import variances
from bayesnb.results.classifier import PointEstimate, Posterior
from bayesnb.results.draws import Draws
from bayesnb.rows import arguments
from bayesnb.rows.checks import accepts, check_fit, columns_behind, match_statistics
from bayesnb.rows.statistics import ModelStatistics


@singledispatch
def check_result(result: Any) -> None:
    """Raise ValueError, naming the part, unless the result is one that a fit or a user could have made."""
    raise ValueError(f"a {type(result).__name__} is not a result")


@check_result.register(NaiveBayes)
def check_model(model: NaiveBayes) -> None:
    """Raise ValueError unless the model is one that a user could define, or that data could resolve."""
    families: Mapping[str, Any] = model.families
    columns, num_classes = model.columns, arguments.check_num_classes(model.num_classes)
    if not isinstance(model.single, bool) or (model.single and list(families) != ["x"]):
        raise ValueError(f"the only block of a model is named 'x', got single={model.single!r} with {list(families)}")
    sizes = set(columns.values())
    if set(columns) != set(families) or not (sizes == {None} or all(type(size) is int and size >= 0 for size in sizes)):
        raise ValueError(f"columns must be the number of columns of each block {list(families)}, got {columns!r}")
    if not model.resolved:
        for family in families.values():
            family.__post_init__()  # the checks of its constructor
    else:
        values, axes = {"class_concentration": model.class_concentration}, (("class_concentration", "K"),)
        require_axes("NaiveBayes", values, axes, {"K": num_classes or 0})
        for name, family in families.items():
            size: Any = columns[name]
            if family.declared_columns not in (None, size):
                raise ValueError(f"block {name!r} has {size} columns, and its family {family.declared_columns}")
            _check_resolved(family, name, num_classes or 0, size)
            check_fit(family, np.zeros((0, size)), name)
    if model.spelling is not None:
        _check_spelling(model)
    given = ("class_concentration", "class_probs", "num_classes", "priors")
    NaiveBayes(families["x"] if model.single else families, **{name: getattr(model, name) for name in given})


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
    own, blocks = {*model.respell(None).sites()} - {"class_probs"}, {cells.block for cells in spelling.cells}
    if not own <= {site.name for site in spelling.canonical} or blocks != set(model.families):
        raise ValueError("the spelling must have all parameters and blocks of the model")


@singledispatch
def _check_resolved(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    """Raise ValueError unless these hyperparameters are valid for a resolved or updated family of these sizes."""
    structure, values = values_of(family, static=True), values_of(family)
    type(family)(**structure)
    require_axes(f"block {block!r}", values, family.axes, family.axis_sizes(num_classes, num_columns))
    for name in family.squared:
        if not (np.abs(np.asarray(values[name], float)) <= LARGEST_CELL).all():
            raise ValueError(f"block {block!r}: {name} must be at most {LARGEST_CELL:.2g}, because it is squared")
    double = {name: _clip(np.asarray(values[name], np.float64), letters) for name, letters in family.axes}
    type(family)(**{**structure, **values, **double, **_without_zeros(family, double)})


@singledispatch
def _without_zeros(family: Any, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands for scales of zero, which data may give but users may not."""
    del family, values
    return {}


_without_zeros.register(Normal, lambda _, values: {"rate": np.where(values["rate"] == 0, 1.0, values["rate"])})


@_without_zeros.register(MultivariateNormal)
def _(family: Any, values: Mapping[str, Any]) -> Mapping[str, Any]:
    del family
    idle = (variances(values["scale"]) == 0)[..., None]
    return {"scale": values["scale"] + np.eye(values["scale"].shape[-1]) * idle}


@_check_resolved.register(Multinomial)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    check, table = _check_resolved.dispatch(object), family.concentration
    if not is_class_table(table):
        return check(family, block, num_classes, num_columns)
    table.check(f"block {block!r}", "concentration")
    if table.shape != (num_classes, num_columns) or len(table.base) != 1 or (np.asarray(table.total) != 1).any():
        raise ValueError(f"block {block!r}: concentration must be a table {num_classes, num_columns} of one prior")
    return check(family._replace(concentration=table.base), block, 1, num_columns)


@_check_resolved.register(Views)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    for one in family.fitted:
        _check_resolved(one, block, num_classes, num_columns)


def _clip(value: np.ndarray[Any, Any], letters: str) -> np.ndarray[Any, Any]:
    """The values clipped to the bounds for users' hyperparameters, which data of extreme scale can exceed."""
    if letters.endswith("DD"):  # a correlation matrix stays positive definite
        roots = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
        roots = np.where(roots > 0, roots, 1.0)
        value = value / roots[..., None, :] / roots[..., :, None]
    size = np.abs(value)
    return np.where((size > 0) & np.isfinite(size), np.sign(value) * np.clip(size, 1 / BOUND, BOUND), value)


@check_result.register(ModelStatistics)
def check_statistics(statistics: ModelStatistics, model: NaiveBayes | None = None) -> None:
    """Raise ValueError unless the statistics are possible for some rows (of the model, if given)."""
    counts = statistics.class_counts
    require_axes("statistics", {"class_counts": counts}, (("class_counts", "K"),), {"K": np.size(counts)})
    if not ((np.asarray(counts) >= 0) & np.isfinite(np.asarray(counts, np.float64))).all():
        raise ValueError("statistics: class_counts must be finite and not negative")
    statistics.named(statistics.classes)  # checks the labels
    for name, of_block in statistics.blocks.items():
        of_block.check(name, len(counts))
    if isinstance(statistics, ForestStatistics):
        statistics.pairs.check()
    if model is None:
        return
    match_statistics(model.families, model.num_classes, model.resolved, statistics)
    for name, columns in model.columns.items():
        if columns not in (None, found := columns_behind(model.families[name], statistics.blocks[name])):
            raise ValueError(f"block {name!r} has {columns} columns in the model and {found} in the statistics")


@check_result.register
def _(result: PointEstimate) -> None:
    check_model(result.model)
    arguments.check_params(result.model, _numbers("params", result.params))
    if isinstance(result, EMEstimate):
        trace = _numbers("EMEstimate", {"log_posterior": result.log_posterior})["log_posterior"]
        if trace.ndim != 1 or np.isnan(trace).any():
            raise ValueError("log_posterior must be one number for each iteration")


@check_result.register
def _(result: Posterior) -> None:
    for name, model in (("prior", result.prior), ("model", result.model)):
        check_model(model)
        if not model.resolved:
            raise ValueError(f"the {name} of a posterior must be resolved, with the columns of each block")
    require_alike(result.prior, result.model)
    check_statistics(result.statistics, result.prior)
    if result.powers is not None:
        sizes = {name: num_powers(f, result.model.columns[name] or 0) for name, f in result.model.families.items()}
        for name, power in _check_by_feature("powers", result.powers, sizes).items():
            if not ((power >= 0) & (power < np.inf)).all():
                raise ValueError(f"powers[{name!r}] must be finite and not negative")
    if isinstance(result, EmpiricalPosterior):
        terms = {"start_log_evidence": result.start_log_evidence, "log_hyperprior": result.log_hyperprior}
        require_finite_numbers("EmpiricalPosterior", **terms)


@check_result.register
def _(result: AveragedPosterior) -> None:
    check_result(result.posterior)
    model = result.model
    require_alike(model, model.with_hyperparameters(result.pooled, model.class_concentration))
    for name, family in result.pooled.items():
        _check_resolved(family, name, 1, model.columns[name] or 0)
    _check_by_feature("log_odds", result.log_odds, model.columns)


@check_result.register
def _(result: ForestPosterior) -> None:
    check_result(result.posterior)
    result.pairs.check()
    pairs, layout, families, columns = result.pairs, result.layout, result.model.families, result.model.columns
    sizes = tuple(size for name, family in families.items() for size in category_sizes(family, columns[name] or 0))
    of_columns = tuple(size for size in sizes if size)
    children = {*layout.reals, *layout.others} if of_columns else set()
    known = pairs.categories.sizes == of_columns and {*pairs.blocks} == children
    if not known or not all(
        accepts(families[name], one) and columns_behind(families[name], one) == columns[name]
        for name, one in pairs.blocks.items()
    ):
        raise ValueError(f"pairs must be those of the model's columns, {sizes}, got {pairs.categories.sizes!r}")
    if pairs.reals.num_columns != layout.count(layout.reals):
        raise ValueError(f"pairs must be those of the model's columns, {columns}, got {pairs.reals.num_columns} reals")
    if pairs.num_classes != len(result.posterior.statistics.class_counts):
        raise ValueError(f"pairs must be those of the model's classes, got {pairs.num_classes}")
    counts = [size for column in result.segments for size in column]
    if tuple(map(sum, result.segments)) != sizes or not all(type(size) is int and size > 0 for size in counts):
        raise ValueError(f"segments must share out the categories of each column, {sizes}, got {result.segments}")
    if result.structure not in STRUCTURES:
        raise ValueError(f"structure must be one of {list(STRUCTURES)}, got {result.structure!r}")
    if (result.structure == "best") != (result.parents is not None):
        raise ValueError('parents belong to the structure "best", and only to it')
    if result.parents is not None and not is_forest(result.parents, len(layout.order)):
        raise ValueError(f"parents must be one of each column, -1 for roots, without circles: {result.parents!r}")
    if result.power is not None and result.posterior.powers is None:
        raise ValueError("the power of the forests and the powers of the features belong together")
    if result.power is not None and not (np.ndim(result.power) == 0 and 0 <= float(result.power) < np.inf):
        raise ValueError(f"power must be one number, finite and not negative, got {result.power!r}")


@check_result.register
def _(result: Draws) -> None:
    check_model(result.model)
    extra = {}
    if isinstance(result, HierarchicalDraws):
        check_model(result.specification)
        require_alike(result.specification, result.model)
        check_statistics(result.statistics, result.model)
        extra = hyperpriors(result.specification)
    params: dict[str, Any] = dict(result.model.own_params(_numbers("params", result.params)))
    hyperparameters = {site: params.pop(site) for site in extra}
    num_draws = _check_draws(result.model.respell(None), params)
    if type(result.num_chains) is not int or result.num_chains < 1 or num_draws % result.num_chains:
        raise ValueError(f"num_chains must divide the number of draws, {num_draws}, got {result.num_chains!r}")
    for site, value in hyperparameters.items():
        with allow_promotion():
            good = value.shape == (num_draws, *extra[site].shape()) and np.isfinite(value).all()
            if not good or not np.all(extra[site].support(value)):
                raise ValueError(f"params[{site!r}] must be {num_draws} draws in the support of {extra[site]!r}")


@check_result.register
def _(result: Bootstrap) -> None:
    check_result(result.estimate)
    params = _numbers("params", result.params)
    _check_draws(result.estimate.model, params)
    for site, value in params.items():
        if value.shape[1:] != np.shape(result.estimate.params[site]):
            raise ValueError(f"params[{site!r}] must be replicates of the estimate's array, got shape {value.shape}")


def _check_draws(model: NaiveBayes, params: Mapping[str, Any]) -> int:
    """The number of draws, on the first axis; ValueError unless each is a valid set of the model's parameters."""
    sizes = {len(value) for value in params.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(f"params must have as many draws at each site, and some, got {sorted(sizes)}")
    (num_draws,) = sizes
    for draw in range(num_draws):
        arguments.check_params(model, {site: value[draw] for site, value in params.items()})
    return num_draws


@check_result.register
def _(result: MultiLabel) -> None:
    fits = MultiLabel(to_double(result.fits))
    sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(fits)}
    if len(sizes) != 1 or not all(sizes):
        raise ValueError("the arrays of a MultiLabel must have the labels on their first axis")
    for index in range(fits.num_labels):
        check_result(fits.label(index))


def require_alike(model: NaiveBayes, other: NaiveBayes) -> None:
    """Raise ValueError unless both have the same blocks, classes and, if known, columns."""

    def layout(of: NaiveBayes) -> dict[str, Any]:
        blocks = {name: type(family).__name__ for name, family in of.families.items()}
        columns = of.columns if of.resolved else None
        return {"blocks": blocks, "num_classes": of.num_classes, "columns": columns, "single": of.single}

    expected, found = layout(model), layout(other)
    for name, value in expected.items():
        if None not in (value, found[name]) and value != found[name]:
            raise ValueError(f"the parts of a result must have the same {name}, got {value} and {found[name]}")


def _numbers(owner: str, given: Any) -> dict[str, np.ndarray[Any, Any]]:
    for name, value in given.items():
        sizes = {str(axis): size for axis, size in enumerate(np.shape(value))}
        require_axes(owner, given, ((name, "".join(sizes)),), sizes)
    return {n: value if is_class_table(value) else np.asarray(value, np.float64) for n, value in given.items()}


def _check_by_feature(owner: str, given: Any, sizes: Mapping[str, int | None]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays; ValueError unless each block has one number, [1], or as many as it has features or powers."""
    arrays = _numbers(owner, given)
    if set(arrays) != set(sizes):
        raise ValueError(f"{owner} must have the blocks {list(sizes)}, got {list(arrays)}")
    for name, value in arrays.items():
        if value.shape not in ((1,), (sizes[name],)) or np.isnan(value).any():
            raise ValueError(f"{owner}[{name!r}] must be one number or one for each column, got shape {value.shape}")
    return arrays
