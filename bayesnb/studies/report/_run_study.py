"""Studies run, from their folders, and several as one: run again, only what is missing runs."""

from __future__ import annotations

import platform
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from bayesnb import __version__
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.results._bounds import check_question
from bayesnb.core.rows._arguments import check_counts, is_number
from bayesnb.studies.comparison._asked import check_metrics, check_sizes
from bayesnb.studies.comparison._contestants import read_methods
from bayesnb.studies.comparison._data_sets import DataSet, read_sets
from bayesnb.studies.comparison._designs import CROSSED, RESPLIT, Design, Forward, make_design
from bayesnb.studies.comparison._journal import Journal, open_journal, read_study
from bayesnb.studies.comparison._metrics import SET_METRICS
from bayesnb.studies.comparison._run import Plan, run
from bayesnb.studies.comparison._scored_cells import Place
from bayesnb.studies.comparison._telling import telling
from bayesnb.studies.report._study import Experiment
from bayesnb.tables.frames._series import DataError, closest
from bayesnb.tables.frames._values import ReadingOptions


def experiment(
    sets: Any,
    methods: Any = ("MLE", "MAP", "full Bayes", "default"),
    sizes: Sequence[int] | None = None,
    splits: int | Forward = 30,
    metrics: Sequence[str] = ("log_loss", "accuracy", "brier"),
    seed: int = 0,
    groups: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    out: str | Path | None = None,
    *,
    design: str = CROSSED,
    s: float = 1.0,
    **reading: Unpack[ReadingOptions],
) -> Experiment:
    """Every method on every set, at growing sizes of the training set, on the same random splits.

    By default a set has one stratified test part, 30 % of its rows, and ``splits`` permutations of the others, whose
    prefixes are the training sets: all are scored on the same rows, so that the variation of training sets and that of
    test rows are told apart. Training sets larger than half of the available rows are tested on rows drawn anew in each
    split. Closed forms at all sizes share the statistics of one pass.

    Args:
        sets: By name (X, y), with X a frame or an array and y labels of any kind; (frame, "target"); (model, X, y) for
            a model and its rows; or a file, "adult.csv:income", or a set of scikit-learn, "iris". Or a list of files.
        methods: Of ``bayesnb compare``, by name; estimators of scikit-learn; (name, function), where ``function(model,
            X, y)`` returns what has ``predict_log_proba``, and may take ``seed``; NumPyro programs of X and y; and what
            ``methods`` returns.
        sizes: Training rows. By default 16, 23, 32, 45, 64, ... up to half of the rows to train on.
        splits: Their number, or ``forward(...)`` for rows in the order of time.
        metrics: Some of log_loss, accuracy, brier, ece and auc; and of sets of classes, ``decide_set``, determinacy,
            single_accuracy, set_accuracy, set_size, u65 and u80, which only methods with an exact posterior of
            categories have: of a default fit those of its part without dependence.
        seed: Of the splits, and of methods that draw at random.
        groups: By set the group of each row, such as a patient, or the column that has it, which is then no feature: a
            group trains or tests as a whole.
        timeout: Seconds after which a fit of another author's code is ended; it is then a failed cell.
        out: A folder for the cells. Run again, with the same or more sets, methods, sizes and splits, only cells that
            are not in it run; so it may be stopped at any time.
        design: "resplit" draws test rows anew for each split.
        s: The pseudo-rows of sets of classes.
        **reading: What texts in files and frames mean, as for ``fit_table``.

    Raises:
        DataError: for what is no set, method, size or metric, and for a folder of another study.

    Example:
        >>> import bayesnb as nb
        >>> study = nb.experiment("wine", ["MLE", "full Bayes"], sizes=[16, 64], splits=5)
        >>> study.scores("log_loss", size=16).round(2).to_dict("index")
        {'wine': {'MLE': 4.64, 'full Bayes': 0.31}}
    """
    metrics = check_metrics(metrics)
    check_question(None, s)
    if not isinstance(splits, Forward):
        check_counts(splits=splits)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DataError(f"seed must be a whole number from 0, got {seed!r}")
    if design not in (CROSSED, RESPLIT):
        raise DataError(
            f"design must be '{CROSSED}' or '{RESPLIT}', got {design!r}{closest(str(design), (CROSSED, RESPLIT))}"
        )
    chosen, wanted, found = read_methods(methods), check_sizes(sizes), read_sets(sets, int(seed), groups, reading)
    if groups and isinstance(splits, Forward):
        raise DataError("give groups= or splits=nb.forward(...), not both: rows in the order of time are not regrouped")
    if timeout is not None and not (is_number(timeout) and timeout > 0):
        raise DataError(f"timeout must be a positive number of seconds, got {timeout!r}")
    designs = {}
    for data in found:
        designs[data.name] = make_design(data.name, design, data.table.y, splits, int(seed), wanted, data.groups)
        _warn_of_twins(data, designs[data.name])
    plan = Plan(
        {data.name: (data, designs[data.name]) for data in found},
        chosen,
        int(seed),
        float(s) if {*metrics} & {*SET_METRICS} else None,
    )
    with nullcontext(Journal()) if out is None else open_study(plan, metrics, Path(out)) as journal:
        due = [place for place, key in plan.keys.items() if key not in journal]
        with telling(due, len(plan.keys)) as tell:
            run(plan, journal, lambda place: tell(place, journal[plan.keys[place]].seconds), timeout)
    return study_of(plan, metrics, journal)


def open_study(plan: Plan, metrics: Sequence[str], out: Path) -> AbstractContextManager[Journal]:
    """The journal of a folder with what describes the study, and its splits."""
    about = {
        "bayesnb": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("jax", "numpyro", "numpy", "scikit-learn")},
        "host": socket.gethostname(),
        "utc": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
        **{"seed": plan.seed, "metrics": metrics},
        "methods": {method.name: method.identity for method in plan.methods},
        "sets": {
            name: {"hash": data.fingerprint.hex(), "design": own.name, "sizes": own.sizes}
            for name, (data, own) in plan.sets.items()
        },
        "keys": [*plan.keys.values()],
    }
    return open_journal(out, about, plan.designs)


def study_of(plan: Plan, metrics: Sequence[str], journal: Journal) -> Experiment:
    """The study of a plan whose cells have run."""
    return Experiment(plan.designs, [method.name for method in plan.methods], metrics, plan.keys, journal, plan)


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
    (about, designs), journal = read_study(Path(folder)), Journal(Path(folder))
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
                "the seed or the version differ: run one of them again with those of the other"
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


def _warn_of_twins(data: DataSet, design: Design) -> None:
    """Warn of test rows that also train, if the rows are of numbers, which seldom agree by chance."""
    if "numeric" not in data.table.X:
        return
    cells = np.column_stack([*data.table.X.values(), data.table.y])
    _, kind = np.unique(cells, axis=0, return_inverse=True)
    split, kind = design.nested[0], kind.reshape(-1)
    share = float(np.isin(kind[split.test], kind[split.train]).mean())
    if share > 0.1:
        warn(
            f"set '{data.name}': {share:.0%} of the test rows are among the training rows too, cell by cell: are rows "
            "repeated? Give groups=, or --groups, for rows that belong together"
        )
