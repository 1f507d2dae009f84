"""Run the cells of a study that its journal does not have: closed forms by split, other methods fit by fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import jax
import numpy as np

from bayesnb.comparison._cells import BY_ROW, Cell, Place, keys_of, score
from bayesnb.comparison._contestants import Contestant
from bayesnb.comparison._data_sets import DataSet
from bayesnb.comparison._designs import Design
from bayesnb.comparison._experiment import Split
from bayesnb.comparison._foreign import Answer, Failed, attempt, attempt_all
from bayesnb.comparison._journal import Journal
from bayesnb.comparison._nested import Nested, fit_nested, share_statistics
from bayesnb.frames._series import Array
from bayesnb.model._naive_bayes import NaiveBayes


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be compared: sets with their designs, and methods."""

    sets: Mapping[str, tuple[DataSet, Design]]
    methods: Sequence[Contestant]
    metrics: tuple[str, ...]
    seed: int

    @cached_property
    def keys(self) -> dict[Place, str]:
        """The key of each cell, in the order of ``Place.all``."""
        designs = {name: design for name, (_, design) in self.sets.items()}
        keys = (
            keys_of(data, split, size, self.methods, self.seed)
            for data, design in self.sets.values()
            for size in design.sizes
            for split in design.splits(size)
        )
        places = Place.all(designs, [method.name for method in self.methods])
        return dict(zip(places, chain.from_iterable(keys), strict=True))

    def lacks(self, journal: Journal, place: Place) -> bool:
        """Whether a cell is to be run: it is not there, or without a metric that is wanted now."""
        key = self.keys[place]
        if key not in journal:
            return True
        cell = journal[key]
        return not cell.failed and any(name not in cell.values and name not in cell.undefined for name in self.metrics)


def run(plan: Plan, journal: Journal, on_cell: Callable[[Place], object], timeout: float | None = None) -> None:
    """Run the cells that the journal lacks, and add them to it batch by batch; ``on_cell`` is told of each."""
    for name, (data, design) in plan.sets.items():
        placed = {method.name: attempt(method.place, data).value for method in plan.methods if method.closed}
        foreign: list[tuple[tuple[Place, Split], tuple[Any, ...]]] = []
        for number in range(len(design.nested)):
            for split, sizes in _training(design, number):
                places = [(Place(name, number, size, method.name), method) for size in sizes for method in plan.methods]
                due = [(place, method) for place, method in places if plan.lacks(journal, place)]
                _keep(plan, journal, _run_closed(plan, data, split, placed, due), on_cell)
                for place, method in due:
                    args = method, data, split, place.size, _seed_of(plan, place)
                    if method.foreign:
                        foreign.append(((place, split), args))
                    elif method.closed is None:
                        found = _scored(plan, data, split, place, attempt(_predict, *args))
                        _keep(plan, journal, [(place, *found)], on_cell)
        for batch in attempt_all(_predict, foreign, timeout):
            cells = [(place, *_scored(plan, data, split, place, answer)) for (place, split), answer in batch]
            _keep(plan, journal, cells, on_cell)


def _training(design: Design, number: int) -> Iterator[tuple[Split, list[int]]]:
    """The splits of a number, each with its sizes of training sets."""
    for splits in (design.nested, design.redrawn):
        sizes = [size for size in design.sizes if design.splits(size) is splits]
        if sizes:
            yield splits[number], sizes


Scored = tuple[Cell, Array]


def _keep(
    plan: Plan, journal: Journal, batch: Sequence[tuple[Place, Cell, Array]], on_cell: Callable[[Place], object]
) -> None:
    if batch:
        journal.append([(plan.keys[place], place, cell, losses) for place, cell, losses in batch])
    for place, *_ in batch:
        on_cell(place)


def _seed_of(plan: Plan, place: Place) -> int:
    """The seed of methods that draw at random, another one for each split."""
    return int(np.random.SeedSequence([plan.seed, place.split]).generate_state(1)[0])


def _predict(method: Contestant, data: DataSet, split: Split, size: int, seed: int) -> Array:
    """log p(y | x) of the test rows."""
    return method.fit(data, split.train[:size], seed)(split.test)


def _scored(plan: Plan, data: DataSet, split: Split, place: Place, answer: Answer) -> Scored:
    """The cell of log probabilities, or of the failure in their place, and its losses."""
    y = data.table.y
    if isinstance(answer.value, Failed):
        cell, losses = Cell(failed=answer.value.reason), np.full((len(BY_ROW), len(split.test)), np.nan)
    else:
        cell, losses = score(answer.value, y[split.test], data.num_classes, plan.metrics)
    missing = data.num_classes - len(np.unique(y[split.train[: place.size]]))
    return replace(cell, classes_missing=missing, seconds=answer.seconds), losses


def _run_closed(
    plan: Plan, data: DataSet, split: Split, placed: Mapping[str, Any], due: Sequence[tuple[Place, Contestant]]
) -> list[tuple[Place, Cell, Array]]:
    """The closed forms on one split at all sizes: models that differ in hyperparameters alone are fitted together."""
    found: list[tuple[Place, Cell, Array]] = []
    groups: dict[Any, list[Contestant]] = {}
    for method in {method.name: method for _, method in due if method.closed is not None}.values():
        if isinstance(placed[method.name], Failed):
            answer, mine = Answer(placed[method.name], 0.0), [p for p, _ in due if p.method == method.name]
            found += [(place, *_scored(plan, data, split, place, answer)) for place in mine]
            continue
        structure = jax.tree.structure(placed[method.name][1])
        groups.setdefault((method.closed, method.program, structure), []).append(method)
    for (fit, *_), some in groups.items():
        some.sort(key=lambda method: method.identity)  # the order in which methods are given changes no bit
        names = {method.name: g for g, method in enumerate(some)}
        wanted = [place for place, _ in due if place.method in names]
        sizes = sorted({place.size for place in wanted})
        together, seconds = attempt(_fit_together, [placed[name] for name in names], split, sizes, fit)
        for place in wanted:
            s, g = sizes.index(place.size), names[place.method]
            if not isinstance(together, Nested):  # one by one, to see which of them fail
                own = some[g], placed[place.method][0], split, place.size, 0
                found.append((place, *_scored(plan, data, split, place, attempt(_predict, *own))))
                continue
            value = Failed(together.failed[s, g]) if (s, g) in together.failed else together.log_proba[s, g]
            cell, losses = _scored(plan, data, split, place, Answer(value, seconds / len(wanted)))
            if together.left_out is not None and together.log_evidence is not None:
                loo, evidence = float(together.left_out[s, g]), float(together.log_evidence[s, g])
                cell = replace(cell, loo_log_loss=loo, log_evidence=evidence)
            found.append((place, cell, losses))
    return found


def _fit_together(
    placed: Sequence[tuple[DataSet, NaiveBayes]], split: Split, sizes: Sequence[int], fit: Callable[..., Any]
) -> Nested | None:
    """The fits of all models to all sizes; None if their statistics cannot be shared."""
    data, models = placed[0][0], [model for _, model in placed]
    rows = share_statistics(models[0], *data.rows(split.train[: sizes[-1]]))
    test: Any = data.table.rows(split.test)[0]
    return None if rows is None else fit_nested(models, rows, sizes, test, fit)
