"""Recognise a NumPyro program as Naive Bayes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import allow_promotion, to_host
from bayesnb.compute.jaxpr_numpy import by_numpy
from bayesnb.core.families._base import conjugate_update
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.model._spelling import Cells, Spelling
from bayesnb.core.results._evidence import quadrature_errors
from bayesnb.core.rows._sufficient_statistics import sufficient_statistics
from bayesnb.recognition._certificate import certify, describe
from bayesnb.recognition._class_parameters import Labels, count_classes, parameters_by_class, same
from bayesnb.recognition._matching import CLASS_PROBS, Matches
from bayesnb.recognition._observed_blocks import Block, find_class_probs, make_blocks, make_family
from bayesnb.recognition._observed_rows import (
    CHANGED,
    TOGETHER,
    compare_rows,
    hold_hyperparameters,
    make_source,
    shorten,
)
from bayesnb.recognition._points import Points
from bayesnb.recognition._priors import Setting, by_quadrature, conjugate_priors, known_or_hyper, own_prior
from bayesnb.recognition._reading import DIRICHLET, Reading
from bayesnb.recognition._sampled_blocks import Left
from bayesnb.recognition._user_program import (
    FROM_ZERO,
    NO_LABEL,
    NO_ROWS,
    ONE_SITE,
    NotNaiveBayes,
    Program,
    base_of,
    numbers_of,
)


def from_numpyro(
    fn: Callable[..., object],
    model_args: tuple[object, ...] = (),
    model_kwargs: Mapping[str, object] | None = None,
    *,
    label: str,
) -> NaiveBayes:
    """The `NaiveBayes` that a NumPyro program is; ``model.certificate`` says what was recognised, and what checked.

    Its rows are what the program observes: ``model.rows(*args)``, which may be other numbers than the arguments.

    Args:
        fn: A NumPyro program: a function with ``sample`` sites for parameters, labels and features.
        model_args, model_kwargs: Its arguments with example rows, as in NumPyro's ``log_density``.
        label: The sample site of the labels, or the name of the argument that holds them; the class prior is then ours.

    Raises:
        NotNaiveBayes: a ValueError that names the site and the reason.

    Example:
        >>> import numpy as np, numpyro, numpyro.distributions as dist, bayesnb as nb
        >>> def coins(x, y):
        ...     theta = numpyro.sample("theta", dist.Beta(2.0, 2.0).expand([2]))
        ...     numpyro.sample("x", dist.Bernoulli(theta[y]), obs=x)
        >>> nb.from_numpyro(coins, (np.array([1, 1, 0]), np.array([0, 0, 1])), label="y")
        NaiveBayes(Bernoulli(a=array[2, 1], b=array[2, 1]), class_concentration=array[2], num_classes=2)
    """
    if not callable(fn):
        raise ValueError(f"fn must be a NumPyro program, a function, got {type(fn).__name__}")
    if not isinstance(model_args, tuple):
        raise ValueError(f"model_args must be a tuple of the program's arguments, got {type(model_args).__name__}")
    if not isinstance(model_kwargs, Mapping | None):
        raise ValueError(f"model_kwargs must be a dict of arguments by name, got {type(model_kwargs).__name__}")
    with jax.enable_x64(True), allow_promotion(), by_numpy():
        call: Any = fn
        given = dict(model_kwargs or {})
        while isinstance(call, partial):  # what it holds are arguments, too
            call, model_args, given = call.func, call.args + model_args, {**call.keywords, **given}
        program = Program(call, model_args, given, label).in_double()
        return _recognise_beside_obstacles(fn, program)


def _recognise_beside_obstacles(fn: Callable[..., object], program: Program) -> NaiveBayes:
    """The model; NotNaiveBayes with every obstacle: what is refused is left out, and the rest is looked at again."""
    obstacles: list[str] = []
    recognised: dict[str, str] = {}
    seen = {program.label, ""}
    while True:
        try:
            return _recognise(fn, program, recognised)
        except NotNaiveBayes as error:
            last = error.site in seen
            if not (obstacles and last):
                obstacles.append(str(error))
            if last:
                raise NotNaiveBayes(*obstacles, recognised=recognised) from error.__cause__
            seen.add(error.site)
            program = replace(program, ignored=program.ignored | {error.site})


def _recognise(fn: Callable[..., object], program: Program, recognised: dict[str, str]) -> NaiveBayes:
    """The model; ``recognised`` is filled with what is recognised, by site."""
    whole = _find_labels(program)
    whole.program = hold_hyperparameters(whole)
    labels = _some_rows(whole)
    keys = jax.random.split(jax.random.key(1), limits.PROBE_POINTS)
    first = labels.evaluate(labels.given, keys)
    if not first.observed:
        raise NotNaiveBayes(
            f"the program has no observed site beside the label {program.label!r}: pass the example rows to it; a "
            "regression of the label on them is another model"
        )
    if labels.site:
        num_classes = np.asarray(first.label).shape[-1]
    else:
        highest = int(np.max(labels.old)) + 1 if labels.old is not None else 1
        num_classes = count_classes(labels, highest, first, keys)
    for extreme in () if whole.old is None else (int(whole.old.min()), int(whole.old.max())):
        if not 0 <= extreme < num_classes:
            advice = {-1: f": {NO_LABEL}", num_classes: f": {FROM_ZERO}"}.get(extreme, "")
            raise NotNaiveBayes(
                f"the labels reach {extreme}, and {program.label!r} has {num_classes} classes, 0 to {num_classes - 1}"
                + advice
            )
    points, tables = parameters_by_class(labels, num_classes, keys)
    blocks = make_blocks(points.observed, tables, num_classes)
    needed = _points_needed(blocks, points)
    if needed > len(keys):
        keys = jax.random.split(jax.random.key(1), needed)
        points, tables = parameters_by_class(labels, num_classes, keys)
        blocks = make_blocks(points.observed, tables, num_classes)
    class_probs, fixed = find_class_probs(points, program.label)
    recognised |= {b.site: f"site {b.site!r}, {b.family.__name__}" for b in blocks}
    priors, label = _priors(labels, points), program.label if labels.site else "label"
    cells, left = points.observed, Left(labels, points, num_classes, keys)

    def match(by_quadrature: frozenset[str]) -> tuple[Matches, Composed]:
        blocks = make_blocks(cells, tables, num_classes, by_quadrature | left.sites)
        blocks = [left.without_parameters(block) for block in blocks]
        matches = Matches(left.others, blocks, class_probs, priors, program.label)
        if program.ignored:
            raise NotNaiveBayes("the other sites are no obstacle")
        matches.match_latents()
        rows = {b.name: b.rows(cells[b.site].value, b.totals, cells[b.site].mask) for b in blocks}
        settings = [Setting(points.latents, {name: v.values for name, v in matches.canonical.items()})]
        if matches.hyper:
            settings = [_with_hyper(labels, matches, at, keys) for at in range(3)]
        composed = compose(matches, settings, num_classes, fixed, rows, label, left.prior(blocks))
        return matches, composed._replace(errors=_errors(composed.resolved, matches.blocks, rows, labels))

    while True:
        try:
            matches, composed = match(frozenset())
            break
        except NotNaiveBayes as error:
            if not left.take(error.site, blocks):
                raise
    integrated: frozenset[str] = frozenset()
    for block in blocks:
        if not composed.own.isdisjoint(map(block.canonical, block.params)):
            with suppress(NotNaiveBayes):  # which leaves its priors to a sampler
                matches, composed = match(integrated | {block.site})
                integrated |= {block.site}
    checks = certify(composed.resolved, labels, matches.blocks, points, whole)
    found = compare_rows(labels, whole, [block.site for block in blocks])
    certificate = describe(composed.model, composed.own, composed.errors, matches, labels, checks, found)
    source, spelling = make_source(fn, whole, TOGETHER in found.values()), composed.model.spelling
    if spelling and not {CHANGED, TOGETHER}.isdisjoint(found.values()):
        spelling = spelling._replace(observes=source.__name__)
    # numpy hyperparameters, whose precision no configuration changes
    return to_host(composed.model).with_sites(spelling, source=source, certificate=certificate)


def _errors(model: NaiveBayes, blocks: list[Block], rows: Any, labels: Labels) -> dict[str, float]:
    """By block the errors of its integrals, in nats, in the example rows.

    Raises:
        NotNaiveBayes: if they are too large, as where the density has an edge.
    """
    integrated = [block for block in blocks if block.integrated]
    if not integrated or not model.resolved:
        return {}
    model = model.with_sites(None)
    counted = sufficient_statistics(model, rows["x"] if model.single else rows, labels.given)
    errors = {}
    for block in integrated:
        parts = quadrature_errors(compute(conjugate_update, model.families[block.name], counted.blocks[block.name]))
        parts = {"binning": parts["binning"]} if block.sampled else parts  # the other ones are of integrals
        errors[block.name] = float(np.max([np.max(part) for part in parts.values()]))
        if not errors[block.name] < limits.WARNED_ERROR:
            raise NotNaiveBayes(
                f"site {block.site!r}: {model.families[block.name]!r} is not smooth enough for integrals over its "
                f"arguments, which are off by {errors[block.name]:.1g} nats in the example rows: sample the program as "
                "it is with numpyro.infer.MCMC"
            )
    return errors


def _with_hyper(labels: Labels, matches: Matches, at: int, keys: Any) -> Setting:
    """Points with the hyperparameters of one of them."""
    values = {name: np.repeat(matches.latents[name].values[at, None], len(keys), axis=0) for name in matches.hyper}
    latents = labels.evaluate(labels.given, jax.random.split(keys[at], len(keys)), values).latents
    return Setting(latents, matches.parameters_of(latents))


def _priors(labels: Labels, points: Points) -> dict[str, list[Any]]:
    """The distribution of each latent, with known parameters, at the first two points."""
    program, label = labels.program_with(labels.given), labels.of_site(labels.given)
    values = [{name: site.values[point] for name, site in points.latents.items()} for point in (0, 1)]
    runs = [program.trace(label | at, jax.random.key(2)) for at in values]
    return {name: [base_of(run[name]["fn"]) for run in runs] for name in points.latents}


def _points_needed(blocks: list[Block], points: Points) -> int:
    """More points than any prior has coefficients, but those that are read off a Dirichlet."""
    sizes = [
        len(block.prior_terms(short, {block.canonical(s): v.values for s, v in block.params.items()}, 1))
        for block in blocks
        for short, values in block.params.items()
        if not (values.event == 1 and any(s.concentration is not None for s in points.latents.values()))
    ]
    return max(sizes, default=0) + 6


def _find_labels(program: Program) -> Labels:
    """How to give the program labels."""
    if any(np.shape(leaf)[:1] == (0,) for leaf in program.leaves if hasattr(leaf, "dtype")):
        raise NotNaiveBayes(NO_ROWS)
    trace = program.trace({})
    site = trace.get(program.label)
    if site is not None and site["type"] == "sample":
        value, is_site = np.asarray(site["value"]), True
        old = value if site["is_observed"] else None
        if value.ndim == 0 or value.size != len(value):
            raise NotNaiveBayes(
                f"site {program.label!r}, the label, must have one value for each row, [N] or [N, 1], got shape "
                f"{value.shape}"
            )
    else:
        arguments = program.arguments
        if program.label not in arguments:
            names = [name for name, s in trace.items() if s["type"] == "sample"]
            raise NotNaiveBayes(
                f"label={program.label!r} is neither a sample site nor an argument of the program; its sites are "
                f"{', '.join(names)}, its arguments {', '.join(arguments)}; if nothing draws the label, {ONE_SITE}"
            )
        given = arguments[program.label]
        old, is_site = np.asarray(given), False
        if numbers_of(given) is None or old.ndim == 0 or old.size != len(old):
            raise NotNaiveBayes(
                f"the argument {program.label!r} must be an array of labels, whole numbers from 0, one for each row, "
                f"[N] or [N, 1], got a {type(given).__name__} of shape {old.shape} of {old.dtype}"
            )
        value = old
    if not value.size:
        raise NotNaiveBayes(NO_ROWS)
    return Labels(program, value.shape, old, is_site, trace)


def _some_rows(labels: Labels) -> Labels:
    """The labels of the program with about ``limits.PROBE_ROWS`` rows, of every class, if its rows are arguments."""
    if labels.num_rows <= limits.PROBE_ROWS or labels.old is None:
        return labels
    _, of_classes = np.unique(labels.old, return_index=True)
    spread = np.linspace(0, labels.num_rows - 1, max(limits.PROBE_ROWS - len(of_classes), 2)).astype(int)
    rows = np.union1d(of_classes, spread)
    shorter = shorten(labels, rows)
    with suppress(NotNaiveBayes):
        fewer = labels if shorter is None else _find_labels(shorter)
        if fewer.num_rows == len(rows):
            return fewer
    return labels


class Composed(NamedTuple):
    """The model, and ``resolved`` with the example rows, or itself with hyperpriors.

    ``own`` are the canonical sites with priors of their own, ``errors`` those of integrals by block.
    """

    model: NaiveBayes
    resolved: NaiveBayes
    own: frozenset[str]
    errors: Mapping[str, float] = {}


def compose(
    matches: Matches, settings: list[Setting], num_classes: int, fixed: Any, rows: Any, label: str, prior: Any
) -> Composed:
    """The model; resolved, unless it has hyperpriors or finds bins in the rows of each fit.

    ``fixed`` are known class probabilities; ``rows`` gives example cells by block; ``prior`` is that of blocks left.
    """
    own: dict[str, Any] = {}
    families: dict[str, Any] = {}
    hyper: dict[str, str] = {}

    def find_prior(name: str, reading: Reading, short: str, terms: Any) -> dict[str, list[Any]]:
        """Hyperparameters under each setting; none if the site has a prior of its own."""
        values = conjugate_priors(matches, settings, name, reading, short, terms)
        if values is None:
            own[name] = own_prior(matches.fed[name], settings[0].latents, matches.priors, matches.site_names[name])
        return values or {}

    for block in matches.blocks:
        if block.integrated:
            families[block.name] = by_quadrature(block, matches, settings[0].latents)
            continue
        found: dict[str, list[Any]] = {}
        for short in block.params:
            terms = partial(block.prior_terms, short, num_classes=num_classes)
            for field, values in find_prior(block.canonical(short), block.reading, short, terms).items():
                columns = zip(found[field], values, strict=True) if field in found else None
                found[field] = values if columns is None else [np.concatenate(both, axis=-1) for both in columns]
        known = {
            field: known_or_hyper(matches, settings, values, f"{block.name}_prior_{field}", hyper)
            for field, values in found.items()
        }
        families[block.name] = make_family(block, known)
    concentration: Any = 1.0
    if CLASS_PROBS in matches.fed:
        of_probs = lambda at: DIRICHLET.prior_terms("probs", {"probs": at[CLASS_PROBS]})  # noqa: E731
        of_classes = find_prior(CLASS_PROBS, DIRICHLET, "probs", of_probs)
        if of_classes:
            concentration = known_or_hyper(matches, settings, of_classes["concentration"], "class_concentration", hyper)
    idle = {name: matches.latents[name].values for name in matches.hyper if name not in hyper}
    for name in (name for name, values in idle.items() if same(values, values[:1]).all()):
        raise NotNaiveBayes(
            f"site {name!r} has a fixed value, as by handlers.substitute: write the value in place of the site"
        )
    for name in idle:
        raise NotNaiveBayes(
            f"site {name!r} is not used: it is no parameter of an observed site, of the label or of a prior; leave it "
            "out"
        )
    single = len(matches.blocks) == 1
    model = NaiveBayes(
        families["x"] if single else families,
        class_concentration=concentration,
        class_probs=fixed,
        num_classes=num_classes,
        priors=own or None,
    )
    resolved = model
    if not hyper:
        try:
            resolved = model.resolve(rows["x"] if single else rows)
        except ValueError as error:
            raise NotNaiveBayes(f"the example rows do not fit their likelihoods: {error}") from error
    cells = tuple(Cells(block.name, block.site, block.shape) for block in matches.blocks)
    sites = tuple(matches.sites.values())
    sampled = tuple(block.name for block in matches.blocks if block.sampled)
    if hyper and sampled:
        raise NotNaiveBayes(
            f"site {matches.blocks[0].site!r}: some blocks are left to a sampler, and others have hyperpriors, "
            f"{', '.join(map(repr, matches.hyper))}: recognise them apart, as given the label they are independent"
        )
    spelling = Spelling(label, sites, matches.canonical_sites, cells, tuple(hyper.items()), sampled=sampled)
    model = model if any(block.integrated for block in matches.blocks) else resolved  # a fit finds its bins
    model, resolved = (one.with_sites(spelling, program_prior=prior) for one in (model, resolved))
    return Composed(model, resolved, frozenset(own))
