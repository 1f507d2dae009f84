"""Studies from their folders, and several studies as one."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np

from bayesnb.comparison._cells import Place
from bayesnb.comparison._designs import Design
from bayesnb.comparison._journal import Journal, read_about, read_splits
from bayesnb.frames._series import DataError
from bayesnb.report._study import Experiment


def load_experiment(folder: str | Path) -> Experiment:
    """The study of a folder, ``out`` of ``experiment``, with the cells that have run, without its rows.

    Raises:
        DataError: if the folder has none.

    Example:
        >>> import tempfile, bayesnb as nb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     study = nb.experiment("wine", ["MLE"], sizes=[20], splits=2, out=folder)
        ...     nb.load_experiment(folder).frame().equals(study.frame())
        True
    """
    about, journal = read_about(Path(folder)), Journal(Path(folder))
    designs = read_splits(Path(folder), about)
    keys = dict(zip(Place.all(designs, about["methods"]), about["keys"], strict=True))
    return Experiment(designs, about["methods"], about["metrics"], keys, journal)


def merge_experiments(*studies: Experiment) -> Experiment:
    """One study of all cells of several, such as of two machines with other sets or methods; in memory.

    Raises:
        DataError: if two have other rows, splits or settings under one name.

    Example:
        >>> import bayesnb as nb
        >>> a, b = (nb.experiment("wine", [method], sizes=[20], splits=2) for method in ("MLE", "MAP"))
        >>> nb.merge_experiments(a, b)
        Experiment(sets=1, methods=2, cells=4, failed=0)
    """
    if not studies or not all(isinstance(study, Experiment) for study in studies):
        raise DataError("give studies of nb.experiment or nb.load_experiment, one or more")
    return reduce(_merge, studies)


def _merge(a: Experiment, b: Experiment) -> Experiment:
    designs = dict(a.designs)
    for name, design in b.designs.items():
        designs[name] = _merge_designs(name, designs.get(name, design), design)
    for place in a.keys.keys() & b.keys.keys():
        if a.keys[place] != b.keys[place]:
            raise DataError(
                f"the studies have other cells for '{place.method}' on set '{place.data_set}': its rows, its settings, "
                "the seed or the version differ"
            )
    journal, keys = Journal(), {**a.keys, **b.keys}
    for study in (b, a):
        done = [(key, place) for place, key in study.keys.items() if key in study.journal]
        journal.append([(key, place, study.journal[key], study.journal.losses(key)) for key, place in done])
    methods, metrics = (list(dict.fromkeys([*getattr(a, n), *getattr(b, n)])) for n in ("methods", "metrics"))
    order = {place: keys[place] for place in Place.all(designs, methods) if place in keys}
    return Experiment(designs, methods, metrics, order, journal)


def _merge_designs(name: str, a: Design, b: Design) -> Design:
    one, other = ([*design.nested, *design.redrawn] for design in (a, b))
    same = len(one) == len(other) and all(all(map(np.array_equal, *pair)) for pair in zip(one, other, strict=True))
    if a.name != b.name or not same:
        raise DataError(f"the studies split set '{name}' in other ways: give the same rows, seed, splits and groups")
    return replace(a, sizes=tuple(sorted({*a.sizes, *b.sizes})))
