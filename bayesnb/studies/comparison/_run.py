"""Run the cells of a study that its journal does not have: closed forms by split, other methods fit by fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import jax
import numpy as np

from bayesnb.compute.arrays._loops import one_blas_thread
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.studies.comparison._contestants import Contestant
from bayesnb.studies.comparison._data_sets import DataSet
from bayesnb.studies.comparison._designs import Design, Split
from bayesnb.studies.comparison._foreign import Answer, Failed, Worker, attempt, attempt_all
from bayesnb.studies.comparison._journal import Journal
from bayesnb.studies.comparison._nested import Nested, fit_nested, share_statistics
from bayesnb.studies.comparison._scored_cells import Cell, Place, Scored, failed, keys_of, score, score_sets
from bayesnb.tables.frames._series import Array


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be compared: sets with their designs, and methods; ``s`` pseudo-rows make sets of classes, if any."""

    sets: Mapping[str, tuple[DataSet, Design]]
    methods: Sequence[Contestant]
    seed: int
    s: float | None = None

    @cached_property
    def designs(self) -> dict[str, Design]:
        """The design of each set, of positions in the rows that were given."""
        return {name: design.at(data.places) for name, (data, design) in self.sets.items()}

    @cached_property
    def keys(self) -> dict[Place, str]:
        """The key of each cell, in the order of ``Place.all``."""
        keys = (
            keys_of(data, split, size, self.methods, self.seed, self.s)
            for data, design in self.sets.values()
            for size in design.sizes
            for split in design.splits(size)
        )
        places = Place.all(self.designs, [method.name for method in self.methods])
        return dict(zip(places, chain.from_iterable(keys), strict=True))


def run(plan: Plan, journal: Journal, on_cell: Callable[[Place], object], timeout: float | None = None) -> None:
    """Run the cells that the journal lacks, split by split, and add them to it batch by batch.

    ``on_cell`` is told of each; ``timeout`` is that of code of other authors.
    """
    with nullcontext() if timeout is None else Worker(timeout) as worker:
        for name, (data, design) in plan.sets.items():
            placed = {method.name: attempt(method.place, data).value for method in plan.methods if method.closed}
            for number in range(len(design.nested)):
                for split, sizes in _training(design, number):
                    places = [(Place(name, number, n, method.name), method) for n in sizes for method in plan.methods]
                    due = [(place, method) for place, method in places if plan.keys[place] not in journal]
                    with one_blas_thread():  # its products are small
                        closed = _run_closed(data, split, placed, due, plan.s)
                    _keep(plan, journal, closed, on_cell)
                    for batch in _run_others(data, split, due, plan, worker):
                        cells = [(place, *_scored(data, split, place, answer, plan.s)) for place, answer in batch]
                        _keep(plan, journal, cells, on_cell)


def _training(design: Design, number: int) -> Iterator[tuple[Split, list[int]]]:
    """The splits of a number, each with its sizes of training sets."""
    for splits in (design.nested, design.redrawn):
        sizes = [size for size in design.sizes if design.splits(size) is splits]
        if sizes:
            yield splits[number], sizes


def _keep(
    plan: Plan, journal: Journal, batch: Sequence[tuple[Place, Cell, Array]], on_cell: Callable[[Place], object]
) -> None:
    if batch:
        journal.append([(plan.keys[place], place, cell, losses) for place, cell, losses in batch])
    for place, *_ in batch:
        on_cell(place)


def _run_others(
    data: DataSet, split: Split, due: Sequence[tuple[Place, Contestant]], plan: Plan, worker: Worker | None
) -> Iterator[list[tuple[Place, Answer]]]:
    """Methods without a closed form, one fit each: ours here, and others' as ``attempt_all`` says."""
    foreign = []
    for place, method in due:
        # a method that draws at random has another seed for each split
        own = int(np.random.SeedSequence([plan.seed, place.split]).generate_state(1)[0])
        args = method, data, split, place.size, own, plan.s
        if method.foreign:
            foreign.append((place, args))
        elif method.closed is None:
            yield [(place, attempt(_predict, *args))]
    yield from attempt_all(_predict, foreign, worker)


def _predict(
    method: Contestant,
    data: DataSet,
    split: Split,
    size: int,
    seed: int,
    s: float | None,
    placed: tuple[DataSet, NaiveBayes] | None = None,
) -> tuple[Array, float, Array | str]:
    """log p(y | x) of the test rows, the seconds of the fit, and sets of classes, or why there are none."""
    started = time.perf_counter()
    fit = method.fit(data, split.train[:size], seed, placed)
    seconds = time.perf_counter() - started
    return fit.log_proba(split.test), seconds, "" if s is None else fit.sets(split.test, s)


def _scored(data: DataSet, split: Split, place: Place, answer: Answer, s: float | None) -> Scored:
    """The cell of what ``_predict`` answered, or of the failure in its place, and its losses."""
    y, fit_seconds = data.table.y[split.test], 0.0
    if isinstance(answer.value, Failed):
        cell, losses = failed(answer.value.reason, len(y))
    else:
        log_proba, fit_seconds, sets = answer.value
        ((cell, losses),) = score(np.asarray(log_proba)[None], y, data.num_classes)
        if s is not None and not cell.failed:
            cell, losses = score_sets((cell, losses), sets, y, s)
    missing = _classes_missing(data, split, place.size)
    return replace(cell, classes_missing=missing, seconds=answer.seconds, fit_seconds=fit_seconds), losses


def _classes_missing(data: DataSet, split: Split, size: int) -> int:
    return data.num_classes - len(np.unique(data.table.y[split.train[:size]]))


def _run_closed(
    data: DataSet,
    split: Split,
    placed: Mapping[str, Any],
    due: Sequence[tuple[Place, Contestant]],
    s: float | None,
) -> list[tuple[Place, Cell, Array]]:
    """The closed forms on one split at all sizes: models that differ in hyperparameters alone are fitted together."""
    found: list[tuple[Place, Cell, Array]] = []
    groups: dict[Any, list[Contestant]] = {}
    for method in {method.name: method for _, method in due if method.closed is not None}.values():
        if isinstance(placed[method.name], Failed):
            answer, mine = Answer(placed[method.name], 0.0), [p for p, _ in due if p.method == method.name]
            found += [(place, *_scored(data, split, place, answer, s)) for place in mine]
            continue
        structure = jax.tree.structure(placed[method.name][1])
        groups.setdefault((method.closed, method.program, structure), []).append(method)
    for (fit, *_), some in groups.items():
        some.sort(key=lambda method: method.identity)  # the order in which methods are given changes no bit
        names = {method.name: g for g, method in enumerate(some)}
        sizes = sorted({place.size for place, _ in due if place.method in names})
        wanted = {p: (sizes.index(p.size), names[p.method]) for p, _ in due if p.method in names}
        together, seconds = attempt(_fit_together, [placed[name] for name in names], split, sizes, fit)
        alone = {p: (some[g], data, split, p.size, 0, s, placed[p.method]) for p, (_, g) in wanted.items()}
        if not isinstance(together, Nested):  # one by one, to see which of them fail
            answers = ((place, attempt(_predict, *args)) for place, args in alone.items())
            found += [(place, *_scored(data, split, place, answer, s)) for place, answer in answers]
            continue
        y, missing = data.table.y[split.test], {size: _classes_missing(data, split, size) for size in sizes}
        scored = score(together.log_proba.reshape(-1, len(y), data.num_classes), y, data.num_classes)
        for place, (n, g) in wanted.items():
            reason = together.failed.get((n, g))
            cell, losses = scored[n * len(some) + g] if reason is None else failed(reason, len(y))
            if s is not None and not cell.failed:
                cell, losses = score_sets((cell, losses), _predict(*alone[place])[2], y, s)  # of a fit of its own
            times: Any = {"seconds": seconds / len(wanted), "fit_seconds": together.seconds / len(wanted)}
            exact: Any = {name: float(table[n, g]) for name, table in together.exact.items()}
            found.append((place, replace(cell, classes_missing=missing[place.size], **times, **exact), losses))
    return found


def _fit_together(
    placed: Sequence[tuple[DataSet, NaiveBayes]],
    split: Split,
    sizes: Sequence[int],
    fit: Callable[..., Any],
) -> Nested | None:
    """The fits of all models to all sizes; None if their statistics cannot be shared."""
    data, models = placed[0][0], [model for _, model in placed]
    rows = share_statistics(models[0], *data.rows(split.train[: sizes[-1]]))
    test: Any = data.table.rows(split.test)[0]
    return None if rows is None else fit_nested(models, rows, sizes, test, fit)
