"""The estimator's parameters, and what they make of a schema: the model, and what is learned where nobody chose.

One rule for the estimator, for files and for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.families import Family
from bayesnb.core.families._views import shares, start_powers, with_views
from bayesnb.core.fits._averaged import feature_inclusion, fit_averaged
from bayesnb.core.fits._closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.core.fits._empirical import fit_empirical
from bayesnb.core.fits._nuts import fit_nuts
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Classifier, PointEstimate, Posterior
from bayesnb.core.results._draws import Draws
from bayesnb.core.rows._arguments import check_class_probs, check_factors, is_number
from bayesnb.core.rows._part import part_size
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.learned.forests._posterior import ForestPosterior
from bayesnb.learned.forests._stacked import COLUMNS, COVARIANCES, StackedPosterior
from bayesnb.learned.validation._default import Count, Default, fit_default
from bayesnb.learned.validation._relevance import can_learn_each, is_wide
from bayesnb.learned.validation._temper import temper_fitted
from bayesnb.tables.frames._allowed import require_method
from bayesnb.tables.frames._blocks import AnySchema, BlocksSchema, make_schema
from bayesnb.tables.frames._choices import AUTO
from bayesnb.tables.frames._classes import by_label
from bayesnb.tables.frames._columns import MISSING
from bayesnb.tables.frames._missing import require_words, with_indicators
from bayesnb.tables.frames._series import DataError

FITS: dict[str, Callable[..., Classifier]] = {
    "default": fit_posterior,
    "posterior": fit_posterior,
    "map": fit_map,
    "mle": fit_mle,
    "nuts": fit_nuts,
    "empirical": fit_empirical,
    "averaged": fit_averaged,
}

BY_EM = ("default", "map", "mle")
"""The methods that can use rows without a label."""

PARTS: dict[bool | str | None, tuple[str, ...]] = {
    None: (COLUMNS, "best", "aode", *COVARIANCES), False: (COLUMNS,), "forest": ("best",), "aode": ("aode",)
}  # fmt: skip
"""The parts of the default by what ``dependence`` may be."""


class Parameters(NamedTuple):
    """The parameters of the estimator."""

    likelihoods: Any = AUTO
    method: Any = "default"
    class_prior: Any = None
    class_weight: Any = None
    smoothing: Any = 1.0
    forgetting: Any = 1.0
    temper: Any = None
    dependence: Any = None
    missing: Any = AUTO
    unlabelled: Any = None
    keep_rows: bool = True
    random_state: Any = None
    num_samples: int = 1000


def missing_evidence(schema: AnySchema, model: NaiveBayes, statistics: ModelStatistics) -> dict[str, float]:
    """The log Bayes factor of each indicator of missing cells, by its column, under the priors of the model."""
    if isinstance(schema, BlocksSchema) or not schema.informative:
        return {}
    family, counts = model.families[MISSING], statistics.blocks[MISSING]
    alone = NaiveBayes({MISSING: family}, num_classes=model.num_classes)
    found = feature_inclusion(alone, statistics=ModelStatistics(statistics.class_counts, {MISSING: counts}))
    factors = np.asarray(found.log_bayes_factor[MISSING]).tolist()
    return {schema.names[place]: factor for place, factor in zip(schema.informative, factors, strict=True)}


def ordered_probs(given: Any, classes: Array) -> Array | None:
    """The probabilities of ``class_prior`` in the order of the classes [K]; None if they are learned.

    Raises:
        ValueError: for invalid probabilities, or labels other than the classes.
    """
    given = by_label(given)
    if isinstance(given, str) and given == "uniform":
        return np.full(len(classes), 1.0 / len(classes))
    if isinstance(given, str):
        raise ValueError(
            f"class_prior must be None, 'uniform', probabilities or a dict of them by label, got {given!r}"
        )
    if isinstance(given, Mapping):
        labels = classes.tolist()
        if set(given) != set(labels):
            raise ValueError(f"class_prior must have a probability for each of the labels {labels}, got {list(given)}")
        given = [given[label] for label in labels]
    return None if given is None else check_class_probs(given, len(classes), name="class_prior")


def weight_by_class(given: Any, classes: Array) -> Array | str | None:
    """The weights of the classes [K], "balanced", or None.

    Raises:
        ValueError: for a label that is not a class, and weights that are not positive and finite.
    """
    given = by_label(given)
    if given is None or (isinstance(given, str) and given == "balanced"):
        return given
    if not isinstance(given, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict of weights by label, got {given!r}")
    labels = classes.tolist()
    others = [label for label in given if label not in labels]
    if others:
        raise ValueError(
            f"class_weight has a weight for {others[0]!r}, which is not among the labels {labels}: leave it out or, "
            "where partial_fit is to see it later, declare them, classes=[...]"
        )
    if not all(is_number(value) and value > 0 for value in given.values()):
        raise ValueError(f"class_weight must be positive, finite numbers, got {dict(given)}")
    return np.array([given.get(label, 1.0) for label in labels], float)


def weigh_classes(fit: Classifier, weight: Array | str) -> Classifier:
    """The fit whose class probabilities are weighted, or all the same ("balanced")."""
    if isinstance(fit, PointEstimate | Draws):
        probs = np.asarray(fit.model.class_probs_of(fit.params)).reshape(-1, fit.model.num_classes or 1).mean(axis=0)
    else:
        probs = np.asarray(fit.model.class_mean())
    probs = np.ones(len(probs)) if isinstance(weight, str) else probs * weight
    return fit.with_class_probs(probs / probs.sum())


def costs_by_label(given: Any, classes: Array) -> Any:
    """The costs [K, K] in the order of the classes, from a dict of dicts by label; other costs unchanged.

    Raises:
        ValueError: for a label that is not a class.
    """
    labels = classes.tolist()
    if not isinstance(given, Mapping):
        if np.ndim(given) == 2 and np.shape(given)[1] != len(labels):
            raise ValueError(f"costs must have a column for each of the {len(labels)} labels, got {np.shape(given)}")
        return given
    costs = 1.0 - np.eye(len(labels))
    for true, of_decisions in given.items():
        if not isinstance(of_decisions, Mapping):
            raise ValueError(f"costs of {true!r} must be a dict of numbers by decision, got {of_decisions!r}")
        for decision, cost in of_decisions.items():
            if true not in labels or decision not in labels:
                raise ValueError(f"costs name {true!r} and {decision!r}, and the labels are {labels}")
            if not is_number(cost):
                raise ValueError(f"costs of {true!r} must be finite numbers, got {cost!r} for {decision!r}")
            costs[labels.index(true), labels.index(decision)] = cost
    return costs


def require(asked: Parameters) -> None:
    """Raise ValueError for a method, a smoothing, a forgetting, powers, a dependence or flags that there are not."""
    method, temper, dependence = asked.method, asked.temper, asked.dependence
    require_method(method, asked.smoothing)
    check_factors(asked.forgetting, [], "forgetting")
    require_words(asked.missing)
    if asked.unlabelled not in (None, "use"):
        raise ValueError(f"unlabelled must be None or 'use', got {asked.unlabelled!r}")
    if asked.unlabelled and (method not in BY_EM or temper or dependence):
        raise ValueError(
            "unlabelled='use' is expectation maximisation, of the methods 'default' and 'map', which are then the MAP, "
            f"and 'mle'; it learns no powers and no dependence: got method={method!r}, temper={temper!r} and "
            f"dependence={dependence!r}"
        )
    if temper is not None and temper not in (True, False, "per_feature"):
        raise ValueError(f"temper must be True, False, 'per_feature' or None, got {temper!r}")
    if temper and method not in ("default", "posterior", "empirical"):
        raise ValueError(f"temper needs method 'default', 'posterior' or 'empirical', got '{method}'")
    if not (dependence is None or isinstance(dependence, bool | str)) or dependence not in PARTS:
        raise ValueError(f"dependence must be None, False, 'forest' or 'aode', got {dependence!r}")
    if dependence and (method != "default" or temper is not None):
        other = f"method '{method}'" if method != "default" else f"temper={temper!r}"
        raise ValueError(f"dependence={dependence!r} is learned by method 'default' with temper=None, got {other}")


def schema_of(
    X: Any, likelihoods: Any, missing: Any, before: AnySchema | None, seen: Any = None, weight: Array | None = None
) -> tuple[AnySchema, Any]:
    """The schema of checked rows, and what later rows need to know of their values; see ``make_schema``."""
    if missing is not None and missing != AUTO and isinstance(likelihoods, NaiveBayes):
        raise DataError(
            f"missing={missing!r} adds a block, and likelihoods is a model with blocks of its own: add a "
            "Bernoulli block to it, and zeros and ones for missing cells to X"
        )
    if isinstance(likelihoods, NaiveBayes):
        likelihoods = likelihoods.families["x"] if likelihoods.single else likelihoods.families
    schema, summaries = make_schema(X, likelihoods, before, seen, weight)
    schema = with_indicators(schema, X, missing, before)
    if not isinstance(schema, BlocksSchema):
        schema.require_used("the data frame")
    return schema, summaries


def specification(asked: Parameters, schema: AnySchema, classes: Array, *, views: bool = False) -> NaiveBayes:
    """The model for rows with this schema: Dirichlet(l) priors, or Dirichlet(1 + l) for the MAP.

    If the likelihoods are a model itself, it is that one, with its own priors. With ``views`` numbers that were
    inferred are seen by three views.

    Raises:
        ValueError: for invalid probabilities, and a model of another number of classes.
    """
    probs = ordered_probs(asked.class_prior, classes)
    if isinstance(given := asked.likelihoods, NaiveBayes):
        if given.num_classes not in (None, len(classes)):
            raise ValueError(
                f"the model has {given.num_classes} classes, and y has {len(classes)}: leave num_classes out, or "
                "declare the labels in partial_fit, classes=[...]"
            )
        return given if probs is None else given.with_class_probs(probs)
    # the MLE ignores the prior, but a model must have one
    smoothing = 1.0 if asked.method == "mle" else float(asked.smoothing)
    families = schema.likelihoods(smoothing, laplace=asked.method == "map")
    own = inferred_blocks(schema) if views else set()
    if isinstance(families, Family):
        families = with_views(families) if own else families
    else:
        families = {block: with_views(family) if block in own else family for block, family in families.items()}
    return NaiveBayes(families, num_classes=len(classes), class_probs=probs)


class Plan(NamedTuple):
    """The model, and what is learned: powers, and models of dependence in an average.

    ``powers`` are False for none, True for one of all features, or the blocks of which each feature has its own, and
    any other block has one. ``parts`` are those of ``StackedPosterior``, () for no average and no forests.
    ``count_pairs`` counts those of all rows where the rows that are given are a part.
    """

    model: NaiveBayes
    powers: bool | frozenset[str] = False
    parts: tuple[str, ...] = ()
    count_pairs: Count | None = None


def plan(asked: Parameters, schema: AnySchema, classes: Array, *, num_rows: int, sparse: Collection[str] = ()) -> Plan:
    """The ``specification``, and what is learned from so many rows, as ``temper`` and ``dependence`` say.

    The method "default" sees inferred numbers by three views and learns powers, of each feature where that takes
    seconds; ``sparse`` blocks and the widest of the others have one if it takes longer. It averages the predictions
    with those of models of dependence. Nothing is learned for a model that was given.
    """
    temper = asked.temper
    learns = asked.method == "default" and temper is None and not isinstance(asked.likelihoods, NaiveBayes)
    model = specification(asked, schema, classes, views=learns)
    if temper is True or not (learns or temper):
        return Plan(model, temper is True)
    widths = {block: len(names) for block, names in schema.names_by_block.items()}
    sizes = {block: len(start_powers(family, widths[block])) for block, family in model.families.items()}
    if not learns:
        return Plan(model, frozenset(sizes))
    return Plan(model, _by_feature(sizes, num_rows, len(classes), sparse), PARTS[asked.dependence])


def _by_feature(sizes: Mapping[str, int], num_rows: int, num_classes: int, sparse: Collection[str]) -> frozenset[str]:
    """The blocks of which each feature has a power of its own; ``sizes`` are the numbers of their features."""
    found = {block: 1 if block in sparse else size for block, size in sizes.items()}
    while not is_wide(found, num_rows) and (most := max(found.values())) > 1:
        num_powers = sum(found.values())
        if can_learn_each(part_size(num_rows, num_classes, num_powers), num_classes, num_powers):
            break
        found[next(block for block in found if found[block] == most)] = 1
    return frozenset(block for block, size in found.items() if size == sizes[block])


def learn(fit: Any, learned: Plan | Classifier, rows: tuple[Any, ...]) -> Default:
    """The fit with what is planned, or with the powers of an earlier fit.

    An earlier fit that kept no rows has counted no pairs with the new ones, so that its forests are left out.
    """
    if isinstance(learned, Classifier):
        if isinstance(learned, StackedPosterior | ForestPosterior):
            warn(
                "partial_fit after fit drops the learned dependence between columns, because fit keeps no rows. To "
                "keep it, call partial_fit from the first batch on, and nb.save(..., rows=True) to go on after a load; "
                "to silence this, set dependence=False."
            )
        earlier: Any = learned.posterior if isinstance(learned, ForestPosterior) else learned
        names = ("powers", "length_exponents", "class_power") if has_powers(learned) else ()
        return Default(replace(fit, **{name: getattr(earlier, name) for name in names}), 0, False, np.nan)
    if learned.powers is False or not rows:
        return Default(fit, 0, False, np.nan)
    if learned.powers is True:
        return Default(*temper_fitted(fit, *rows, per_feature=False), False, np.nan)
    return fit_default(fit, *rows, by_feature=learned.powers, structures=learned.parts, count=learned.count_pairs)


def has_views(schema: AnySchema, model: NaiveBayes) -> bool:
    """Whether some numbers were inferred and are seen by several views."""
    return any(len(shares(model.families[block])[0]) > 1 for block in inferred_blocks(schema) & {*model.families})


def inferred_blocks(schema: AnySchema) -> set[str]:
    """The blocks whose columns' likelihoods were all inferred."""
    return {block for block, columns in schema.blocks.items() if all(column.inferred for column in columns)}


def has_powers(fit: Classifier) -> bool:
    """Whether powers of the features were learned from the rows of the fit."""
    fit = getattr(fit, "posterior", fit)  # of forests
    if not isinstance(fit, Posterior) or fit.powers is None:
        return False
    start = fit.prior.start_powers()
    return start is None or not all(np.array_equal(fit.powers[block], start[block]) for block in start)
