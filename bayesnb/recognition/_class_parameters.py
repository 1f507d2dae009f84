"""The parameters of each class: the label is set to each of them, and the parameters of the cells are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.recognition._points import Points, evaluate
from bayesnb.recognition._user_program import FROM_ZERO, ONE_SITE, NotNaiveBayes, Program, Trace, holds, type_like


@dataclass
class Labels:
    """How to give the program labels: the site, the argument, or both."""

    program: Program
    shape: tuple[int, ...]
    old: Any
    """The labels of the example rows, if they are given."""
    site: bool
    trace: Trace
    """A run of the program."""

    @property
    def num_rows(self) -> int:
        """N."""
        return int(np.prod(self.shape))

    @property
    def given(self) -> np.ndarray[Any, Any]:
        """The labels of the example rows [N], from which a program may read the number of classes; else class 0."""
        return np.zeros(self.num_rows, int) if self.old is None else np.maximum(self.old.ravel(), 0).astype(int)

    def program_with(self, y: np.ndarray[Any, Any]) -> Program:
        """The program with the labels ``y`` [N] in its arguments."""
        return self.program.map(
            lambda leaf: type_like(leaf, y.reshape(np.shape(leaf))) if holds(leaf, self.old) else leaf
        )

    def of_site(self, y: np.ndarray[Any, Any]) -> dict[str, Any]:
        """The value of the label's site by its name; if there is none, no run looks at it."""
        kind = np.int32 if self.old is None or (self.old.dtype == bool and y.max() > 1) else self.old.dtype
        return {self.program.label: y.astype(kind).reshape(self.shape)}

    def evaluate(self, y: np.ndarray[Any, Any], keys: Any, values: Any = None) -> Points:
        """The program at points under the labels ``y`` [N]."""
        return evaluate(self.program_with(y), keys, self.of_site(y), values or {})


def same(a: Any, b: Any) -> Any:
    """Whether numbers are equal up to rounding, elementwise; NaN and infinity are equal to nothing."""
    size = np.abs(a) + np.abs(b)
    with np.errstate(invalid="ignore"):
        return (np.abs(a - b) <= 1e-9 * size + 1e-300) & np.isfinite(size)


def by_row(values: np.ndarray[Any, Any], num_rows: int, site: str) -> np.ndarray[Any, Any]:
    """Parameters [P, N, ...] of cells, whose first axis must be the rows'."""
    if values.ndim < 2 or values.shape[1] != num_rows:
        raise NotNaiveBayes(
            f"site {site!r} has cells of shape {values.shape[1:]} and the label has {num_rows} rows: the first axis of "
            f"an observed site must be the rows; in place of a loop over classes, {ONE_SITE}"
        )
    return values


def parameters_by_class(labels: Labels, num_classes: int, keys: Any) -> tuple[Points, dict[str, Any]]:
    """The points, and by observed site the parameters by short name, [P, K, ...].

    Raises:
        NotNaiveBayes: if the parameters of a row depend on anything but its label.
    """
    num_rows = labels.num_rows
    cycle = [np.arange(start, start + num_rows) % num_classes for start in range(0, num_classes, num_rows)]
    runs = [labels.evaluate(y, keys) for y in cycle]
    priors = [site.concentration for site in runs[0].latents.values() if site.concentration is not None]
    if num_classes == 1 and any(np.shape(concentration)[-1] == 1 for concentration in priors):  # known ones it may have
        label = labels.program.label
        raise NotNaiveBayes(f"site {label!r}, the label, has one class: give its probabilities two or more")
    tables: dict[str, Any] = {}
    for site, cells in runs[0].observed.items():
        tables[site] = {}
        for short in cells.params:
            rows = np.concatenate([by_row(run.observed[site].params[short], num_rows, site) for run in runs], axis=1)
            tables[site][short] = rows[:, :num_classes]
            _check_rows(labels, site, rows, tables[site][short], np.concatenate(cycle), runs[0], keys)
    other = uneven_labels(num_rows, num_classes)
    # the same latents, and other keys, of which the program must not make draws of its own
    latents = {name: latent.values for name, latent in runs[0].latents.items()}
    again = labels.evaluate(other, jax.random.split(keys[0], len(keys)), latents)
    for name, latent in again.latents.items():
        if not same(latent.log_prob, runs[0].latents[name].log_prob).all():
            if latent.values.shape[1:2] == (num_rows,):
                raise NotNaiveBayes(
                    f"site {name!r} has a value for each row, depends on the label and is not observed: give a feature "
                    "its data, obs="
                )
            raise NotNaiveBayes(
                f"site {name!r} has another prior in a second run with other labels: it must not depend on the label, "
                "on global state, or on random draws of the program's own"
            )
    for site, cells in again.observed.items():
        if not np.array_equal(cells.value, runs[0].observed[site].value, equal_nan=True):
            raise NotNaiveBayes(
                f"site {site!r} has other cells in a second run with other labels: they must not depend on the "
                "label, on global state, or on random draws of the program's own"
            )
        before = runs[0].observed[site]
        for what, one, two in (("mask", before.mask, cells.mask), ("total_count", before.totals, cells.totals)):
            if not np.array_equal(one, two):
                advice = f"; in place of a loop over classes, {ONE_SITE}" * (what == "mask")
                raise NotNaiveBayes(f"site {site!r} has a {what} that depends on the label{advice}")
    for site, table in tables.items():
        for short, values in table.items():
            _check_rows(labels, site, again.observed[site].params[short], values, other, again, keys)
    return runs[0], tables


def uneven_labels(num_rows: int, num_classes: int) -> np.ndarray[Any, Any]:
    """Labels with a different number of rows in each class, in no order."""
    shares = np.square(np.arange(num_rows) / num_rows)
    return np.random.default_rng(3).permutation((num_classes * shares).astype(int))


def lopsided_labels(num_rows: int, num_classes: int, most: int) -> np.ndarray[Any, Any]:
    """Labels of one class, but for a row of each of the others, in no order."""
    y = np.full(num_rows, most)
    y[:num_classes] = np.arange(num_classes)[:num_rows]
    return np.random.default_rng(4).permutation(y)


def _check_rows(labels: Labels, site: str, rows: Any, table: Any, y: Any, run: Points, keys: Any) -> None:
    if same(rows, table[:, y]).all():
        return
    if labels.old is not None and _is_fixed(labels, site, y, run, keys):
        raise NotNaiveBayes(
            f"site {site!r} has the parameters of the given labels, whatever labels the program gets: it reads them "
            "elsewhere, such as from a global, a list or a column of a frame; index by what numpyro.sample returns for "
            "the label, or pass the labels as an array of their own"
        )
    cells = [name for name in run.observed if name != site and _looks_at(labels, site, name, y, run, keys)]
    if cells:
        raise NotNaiveBayes(
            f"site {site!r} depends on {cells[0]!r} given the label: the features are not conditionally independent"
        )
    own = [f" such as {name!r}" for name, at in run.latents.items() if at.values.shape[1:2] == (labels.num_rows,)]
    raise NotNaiveBayes(
        f"site {site!r} has different parameters in rows of one class: they may depend on the label alone, not on a "
        f"covariate, on other cells, on a latent of each row{''.join(own[:1])}, or on a random draw of the program's "
        "own"
    )


def _is_fixed(labels: Labels, site: str, y: Any, run: Points, keys: Any) -> bool:
    """Whether the parameters are those of the given labels, under all labels."""
    latents = {name: latent.values for name, latent in run.latents.items()}
    other = labels.evaluate(np.roll(y[: labels.num_rows], 1), keys, latents).observed[site].params
    _, first, number = np.unique(labels.given, return_index=True, return_inverse=True)
    params = [(values, other[short]) for short, values in run.observed[site].params.items()]
    return all(same(one, two).all() and same(one, one[:, first[number]]).all() for one, two in params)


def _looks_at(labels: Labels, site: str, other: str, y: Any, run: Points, keys: Any) -> bool:
    """Whether the parameters of a site change when the cells of another one are exchanged between rows."""
    num_rows = len(run.observed[other].value)
    columns = np.asarray(run.observed[other].value, np.float64).reshape(num_rows, -1)

    def exchange(x: Any) -> Any:
        is_of_site = np.array([(column[:, None] == columns).all(axis=0).any() for column in x.T], bool)
        return np.where(is_of_site, np.roll(x, 1, axis=0), x)

    y = y[:num_rows]
    latents = {name: latent.values for name, latent in run.latents.items()}
    before = labels.evaluate(y, keys, latents).observed[site].params
    changed = labels.program.change_rows(num_rows, None, exchange)
    after = replace(labels, program=changed).evaluate(y, keys, latents).observed[site].params
    return not all(same(before[short], after[short]).all() for short in before)


def count_classes(labels: Labels, observed: int, first: Points, keys: Any) -> int:
    """The number of classes that the program reads, when only an argument holds the labels: the first label beyond it
    repeats the parameters of an earlier one, as JAX keeps indices inside an axis, or gives invalid or constant ones,
    as ``one_hot`` does. A program whose latents follow the highest label has that number itself."""
    num_rows = labels.num_rows
    shapes = {name: site.values.shape for name, site in first.latents.items()}

    def read(start: int) -> Any:
        """The parameters [P, N, F] of the labels from ``start`` on; None if the latents are others."""
        points = labels.evaluate(np.arange(start, start + num_rows), keys)
        if {name: site.values.shape for name, site in points.latents.items()} != shapes:
            return None
        params = [by_row(v, num_rows, site) for site, cells in points.observed.items() for v in cells.params.values()]
        return np.concatenate([values.reshape(len(keys), num_rows, -1) for values in params], axis=-1)

    seen: list[np.ndarray[Any, Any]] = []
    latent: Any = None
    for start in range(0, limits.PROBE_CLASSES, num_rows):
        rows = read(start)
        if rows is None:
            return observed
        varies = ~same(rows, rows[:1]).all(axis=0)
        latent = varies[0] if latent is None else latent
        for n in range(num_rows):
            row = rows[:, n]
            is_constant = start + n >= observed and (latent & ~varies[n]).any()
            alike = (other for other in seen if same(row[0, 0], other[0, 0]))
            if not np.isfinite(row).all() or is_constant or any(same(row, other).all() for other in alike):
                return _at_least(labels, len(seen), observed)
            seen.append(row)
        wide = labels.old.itemsize > 1  # a label of eight bits would come round again
        if wide and start + num_rows > 2 * observed + limits.FEW_PROBE_CLASSES and _is_number(read, num_rows):
            break
    raise NotNaiveBayes(
        f"the argument {labels.program.label!r}, the labels, is read as a number: each of {len(seen)} labels that were "
        "tried has other parameters; let each class have parameters of its own, chosen by an index, theta[y]"
    )


def _is_number(read: Callable[[int], Any], num_rows: int) -> bool:
    """Whether parameters change with labels that are beyond all classes."""
    one, other = read(limits.FAR_LABEL), read(limits.FAR_LABEL + num_rows)
    if one is None or other is None:
        return False
    alike = same(one, other) | ~np.isfinite(one + other) | (one == 0)
    return not alike.all(axis=(0, 2)).any()


def _at_least(labels: Labels, found: int, observed: int) -> int:
    if found < observed:
        if labels.given.min() == 1 and observed == found + 1:
            raise NotNaiveBayes(
                f"the labels are 1 to {found}, and the program has parameters of {found} classes: {FROM_ZERO}"
            )
        raise NotNaiveBayes(
            f"the labels have {observed} classes, and the program has parameters of {found}: JAX keeps an index inside "
            "its axis, so that classes would share parameters; give every class its own"
        )
    return found
