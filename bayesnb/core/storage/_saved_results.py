"""Which parts of a result a file holds, and the result from them, checked like user input but with the shapes of a fit.

Of a posterior a file holds the causes: prior, statistics and powers. The update is run again when it is read, and gives
the same bits, because the host computes one function of equal numbers alike. Where it would not, as for a fit inside of
``jax.jit``, whose operations XLA may fuse in another way, the file holds the updated model as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import allow_promotion, to_double
from bayesnb.core.families import Histogram, Mapped, Normal, NormalScores, Views
from bayesnb.core.families._hyperparameters import values_of
from bayesnb.core.families._transformed import LogSlopes
from bayesnb.core.families.parts._support import require_axes, require_finite_numbers
from bayesnb.core.fits._averaged import AveragedPosterior, update_both
from bayesnb.core.fits._em import EMEstimate
from bayesnb.core.fits._empirical import EmpiricalPosterior
from bayesnb.core.fits._multilabel import MultiLabel
from bayesnb.core.fits._nuts import HierarchicalDraws
from bayesnb.core.model._declarations import hyperpriors
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import PointEstimate, Posterior
from bayesnb.core.results._combine import check_powers
from bayesnb.core.results._draws import Draws
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_fit, match_statistics
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, same_sums
from bayesnb.core.storage._kinds import no_result, rebuild, store

store(NormalScores, LogSlopes)(no_result)


def kept_beside(result: Any) -> dict[str, Any]:
    """What is stored besides the causes: class probabilities that were replaced, and a model of other bits."""
    if not isinstance(result, Posterior):
        return {}
    probs = result.model.class_probs
    kept = {} if same_result(probs, result.prior.class_probs, bits=True) else {"class_probs": probs}
    model = update(result.prior, result.statistics, kept.get("class_probs"))
    return kept if same_result(model, result.model, bits=True) else kept | {"model": result.model}


def update(prior: NaiveBayes, statistics: ModelStatistics, class_probs: Any = None) -> NaiveBayes:
    """The posterior model, or those of all labels."""
    step = _update if np.ndim(prior.class_concentration) < 2 else _update_each
    model = _compute_as_stored(step, prior, statistics)
    return model if class_probs is None else model.with_class_probs(class_probs)


_update, _update_each = jax.jit(NaiveBayes.update), jax.jit(jax.vmap(NaiveBayes.update))


def _compute_as_stored(function: Callable[..., Any], *args: Any) -> Any:
    """``compute`` in the precision of the arguments, whatever JAX's setting is."""
    with jax.enable_x64(any(getattr(leaf, "dtype", None) == np.float64 for leaf in jax.tree.leaves(args))):
        return compute(function, *args)


def without_program(result: Any) -> Any:
    """The result as files hold it, without a program that is the prior of some blocks."""
    if isinstance(result, Draws):
        return replace(result, model=without_program(result.model))
    return result._replace(program_prior=None) if isinstance(result, NaiveBayes) else result


def same_result(one: Any, other: Any, *, bits: bool = False) -> bool:
    """True if two results have the same structure, and their numbers are equal up to rounding, or to the bit."""

    def are_alike(a: Any, b: Any) -> bool:
        if isinstance(a, dist.Distribution):  # which broadcasts its arguments
            return str(jax.tree.structure(a)) == str(jax.tree.structure(b))
        x, y = np.asarray(a), np.asarray(b)
        same = type(a) is type(b) and x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        return same or (not bits and same_sums(x, y))

    flat = (jax.tree.flatten(tree, lambda part: isinstance(part, dist.Distribution)) for tree in (one, other))
    (leaves, structure), (others, wanted) = flat
    return str(structure) == str(wanted) and all(map(are_alike, leaves, others))


@store(NaiveBayes)
def check_model(model: NaiveBayes) -> NaiveBayes:
    """The model; ValueError unless it is one that a user could define, or that data could resolve."""
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
    return model


def _check_spelling(model: NaiveBayes) -> None:
    """Raise ValueError unless the spelling has sites for all parameters of the model, through known links."""
    spelling: Any = model.spelling
    own_shapes, shapes = ({s.name: s.shape for s in sites} for sites in (spelling.canonical, spelling.sites))
    pairs = [(site, own_shapes) for site in spelling.sites] + [(site, shapes) for site in spelling.canonical]
    for site, of_sources in pairs:
        if not (site.is_sound() and all(part.is_sound() for part in site.parts)):
            raise ValueError(f"the spelling of site {site.name!r} has an unknown link or support")
        for part in site.parts:
            size = int(np.prod(of_sources[part.source])) if part.source in of_sources else 0
            if not ((part.taken.values >= 0) & (part.taken.values < size)).all():
                raise ValueError(f"the spelling of site {site.name!r} takes elements that {part.source!r} lacks")
        placed = np.concatenate([part.placed.values for part in site.parts])
        if not np.array_equal(np.sort(placed), np.arange(int(np.prod(site.shape)))):
            raise ValueError(f"the spelling of site {site.name!r} must place every element once")
    families = {b: f for b, f in model.families.items() if b not in spelling.sampled}
    own, blocks = {f"{b}_{site}" for b, f in families.items() for site in f.sites}, {c.block for c in spelling.cells}
    if not own <= {site.name for site in spelling.canonical} or blocks != set(model.families):
        raise ValueError("the spelling must have all parameters and blocks of the model")


@singledispatch
def _check_resolved(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    """Raise ValueError unless these hyperparameters are valid for a resolved family of these sizes."""
    structure, values = values_of(family, static=True), values_of(family)
    require_axes(f"block {block!r}", values, family.axes, family.axis_sizes(num_classes, num_columns))
    for name in family.squared:
        if not (np.abs(np.asarray(values[name], float)) <= LARGEST_CELL).all():
            raise ValueError(f"block {block!r}: {name} must be at most {LARGEST_CELL:.2g}, because it is squared")
    double = {name: _clip(np.asarray(values[name], np.float64), letters) for name, letters in family.axes}
    type(family)(**{**structure, **values, **double})


@_check_resolved.register(Normal)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    rate = np.where(np.equal(family.rate, 0), 1.0, family.rate)  # of constant columns; users may not give zero
    _check_resolved.dispatch(object)(family._replace(rate=rate), block, num_classes, num_columns)


@_check_resolved.register(Histogram)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    _check_resolved.dispatch(object)(family, block, num_classes, num_columns)
    if family.mass is not None and not (np.abs(np.asarray(family.mass).sum(axis=-1) - 1.0) < 1e-4).all():
        raise ValueError(f"block {block!r}: mass must be probabilities that add up to one for each column")


@_check_resolved.register(Views)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    for one in family.fitted:
        _check_resolved(one, block, num_classes, num_columns)


_check_resolved.register(Mapped, lambda family, *given: family.each(lambda part: _check_resolved(part, *given)))


def _clip(value: np.ndarray[Any, Any], letters: str) -> np.ndarray[Any, Any]:
    """The values clipped to the bounds for users' hyperparameters, which data of extreme scale can exceed."""
    if letters.endswith("DD"):  # a correlation matrix stays positive definite
        sizes = np.diagonal(value, axis1=-2, axis2=-1)
        roots = np.sqrt(np.where(sizes > 0, sizes, 1.0))
        value = value / roots[..., None, :] / roots[..., :, None] + np.eye(value.shape[-1]) * (sizes == 0)[..., None]
    size, most = np.abs(value), limits.HYPERPARAMETER_BOUND
    return np.where((size > 0) & np.isfinite(size), np.sign(value) * np.clip(size, 1 / most, most), value)


@store(ModelStatistics)
def check_sums(statistics: ModelStatistics) -> ModelStatistics:
    """The statistics; ValueError unless they are possible for some rows."""
    counts = statistics.class_counts
    require_axes("statistics", {"class_counts": counts}, (("class_counts", "K"),), {"K": np.size(counts)})
    if not ((np.asarray(counts) >= 0) & np.isfinite(np.asarray(counts, np.float64))).all():
        raise ValueError("statistics: class_counts must be finite and not negative")
    statistics.named(statistics.classes)  # checks the labels
    for name, of_block in statistics.blocks.items():
        of_block.check(name, len(counts))
    return statistics


def check_statistics(statistics: ModelStatistics, model: NaiveBayes) -> None:
    """ValueError unless the statistics are possible for some rows of the model."""
    rebuild(statistics)
    match_statistics(model.families, model.num_classes, model.resolved, statistics)
    for name, columns in model.columns.items():
        if columns not in (None, found := statistics.blocks[name].num_columns):
            raise ValueError(f"block {name!r} has {columns} columns in the model and {found} in the statistics")


@store(PointEstimate, EMEstimate)
def _(result: PointEstimate) -> Any:
    check_model(result.model)
    arguments.check_params(result.model, _numbers("params", result.params))
    if isinstance(result, EMEstimate):
        trace = _numbers("EMEstimate", {"log_posterior": result.log_posterior})["log_posterior"]
        if trace.ndim != 1 or np.isnan(trace).any():
            raise ValueError("log_posterior must be one number for each iteration")
    return result


@store(Posterior, EmpiricalPosterior, effects=("model",))
def check_posterior(result: Posterior) -> Any:
    """The posterior with its model; ValueError unless it is that of its prior and statistics."""
    prior, given, probs = check_model(result.prior), result.model, vars(result).get("class_probs")
    if not prior.resolved:
        raise ValueError("the prior of a posterior must be resolved, with the columns of each block")
    check_statistics(result.statistics, prior)
    if result.powers is not None:
        result = replace(result, **check_powers(prior, result.powers, result.length_exponents, result.class_power))
    elif result.length_exponents is not None or result.class_power is not None:
        raise ValueError("length_exponents and class_power are of a posterior with powers, and it has none")
    if isinstance(result, EmpiricalPosterior):
        terms = {"start_log_evidence": result.start_log_evidence, "log_hyperprior": result.log_hyperprior}
        require_finite_numbers("EmpiricalPosterior", **terms)
    if given is not None and not same_result(given.class_probs, prior.class_probs, bits=True):
        probs = given.class_probs
    model = update(prior, result.statistics, probs)
    if given is not None and not same_result(given, model):
        raise ValueError("the model of a posterior must be its prior, updated by its statistics")
    return replace(result, model=model if given is None else given)


@store(AveragedPosterior, effects=("pooled",))
def _(result: AveragedPosterior) -> Any:
    posterior = rebuild(result.posterior)
    log_odds, sizes = _numbers("log_odds", result.log_odds), posterior.model.columns
    if set(log_odds) != set(sizes):
        raise ValueError(f"log_odds must have the blocks {list(sizes)}, got {list(log_odds)}")
    for name, value in log_odds.items():
        if value.shape not in ((1,), (sizes[name],)) or np.isnan(value).any():
            raise ValueError(f"log_odds[{name!r}] must be one number or one for each column, got shape {value.shape}")
    _, pooled = _compute_as_stored(update_both, posterior.prior, posterior.statistics)
    return replace(result, posterior=posterior, pooled=pooled)


@store(Draws, HierarchicalDraws)
def _(result: Draws) -> Any:
    check_model(result.model)
    extra = {}
    if isinstance(result, HierarchicalDraws):
        check_model(result.specification)
        for model in (result.specification, result.model):
            check_statistics(result.statistics, model)
        extra = hyperpriors(result.specification)
    params: dict[str, Any] = dict(result.model.own_params(_numbers("params", result.params)))
    hyperparameters = {site: params.pop(site) for site in extra}
    num_draws = _check_draws(result.model, params)
    if type(result.num_chains) is not int or result.num_chains < 1 or num_draws % result.num_chains:
        raise ValueError(f"num_chains must divide the number of draws, {num_draws}, got {result.num_chains!r}")
    for site, value in hyperparameters.items():
        with allow_promotion():
            good = value.shape == (num_draws, *extra[site].shape()) and np.isfinite(value).all()
            if not good or not np.all(extra[site].support(value)):
                raise ValueError(f"params[{site!r}] must be {num_draws} draws in the support of {extra[site]!r}")
    return result


def _check_draws(model: NaiveBayes, params: Mapping[str, Any]) -> int:
    """The number of draws, on the first axis; ValueError unless each is a valid set of the model's parameters."""
    sizes = {len(value) for value in params.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(f"params must have as many draws at each site, and some, got {sorted(sizes)}")
    (num_draws,) = sizes
    if model.sampled:  # a program's latents are beside the model's own parameters
        params = {site: value for site, value in params.items() if site in model.with_sites(None).sites()}
    model = model.with_sites(None)
    for draw in range(num_draws):
        arguments.check_params(model, {site: value[draw] for site, value in params.items()})
    return num_draws


@store(MultiLabel)
def _(result: MultiLabel) -> Any:
    fits = MultiLabel(to_double(result.fits))
    sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(fits)}
    if len(sizes) != 1 or not all(sizes):
        raise ValueError("the arrays of a MultiLabel must have the labels on their first axis")
    for index in range(fits.num_labels):
        rebuild(fits.label(index))
    if result.fits.model is not None:
        return result
    return replace(result, fits=replace(result.fits, model=update(result.fits.prior, result.fits.statistics)))


def _numbers(owner: str, given: Any) -> dict[str, np.ndarray[Any, Any]]:
    for name, value in given.items():
        sizes = {str(axis): size for axis, size in enumerate(np.shape(value))}
        require_axes(owner, given, ((name, "".join(sizes)),), sizes)
    return {n: np.asarray(value, np.float64) for n, value in given.items()}
