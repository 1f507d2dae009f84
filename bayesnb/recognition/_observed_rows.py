"""The rows of a program: which arguments hold them, and what it observes in these and in new arguments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._placement import allow_promotion, to_host
from bayesnb.compute.arrays._typing import ObservedRows
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.compute.jaxpr_numpy import by_numpy
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._checks import num_parts
from bayesnb.recognition._class_parameters import Labels, same
from bayesnb.recognition._points import cells_of
from bayesnb.recognition._user_program import (
    NotNaiveBayes,
    Program,
    Trace,
    base_of,
    holds,
    inner,
    numbers_of,
    type_like,
    value_inside,
)

CHANGED = "not an argument as it is: fits and predictions take what model.rows returns"
TOGETHER = f"{CHANGED}; each depends on the other rows that are given with it"


def hold_hyperparameters(labels: Labels) -> Program:
    """The program with those arguments held that only priors read, although they have as many rows as the data.

    The arguments are rolled by a row, and the latents' densities compared; cells and labels are looked at no further.
    """
    program, num_rows, before = labels.program, labels.num_rows, labels.trace
    sites = {name: site for name, site in before.items() if site["type"] == "sample"}
    rows = [site["value"] for site in sites.values() if site["is_observed"]]
    rows += [] if labels.old is None else [labels.old]
    held = [numbers_of(leaf) for leaf in program.leaves]
    long = [(n, leaf) for n, leaf in enumerate(held) if leaf is not None and leaf.shape[:1] == (num_rows,)]
    suspects = [n for n, leaf in long if not any(np.array_equal(leaf, row, equal_nan=True) for row in rows)]
    if not suspects:
        return program
    latents = {n: site["value"] for n, site in sites.items() if not site["is_observed"] and n != program.label}

    def is_prior(number: int | None) -> bool:
        """Whether only priors read this argument; of None, whether they read any."""
        others = () if number is None else {*range(len(held))} - {number}
        rolled = replace(program, held=frozenset(others)).change_rows(num_rows, None, lambda x: np.roll(x, 1, axis=0))
        try:
            after = rolled.trace(latents)
        except NotNaiveBayes:
            return False
        if not sites.keys() <= after.keys():
            return False
        densities = [[run[name]["fn"].log_prob(value) for name, value in latents.items()] for run in (before, after)]
        changed = not all(same(np.asarray(one), np.asarray(other)).all() for one, other in zip(*densities, strict=True))
        if number is None:
            return changed
        cells = [name for name, site in sites.items() if site["is_observed"]]
        kept = (np.array_equal(before[n]["value"], after[n]["value"], equal_nan=True) for n in cells)
        return changed and all(kept)

    if not is_prior(None):
        return program
    return replace(program, held=frozenset(n for n in suspects if is_prior(n)))


def shorten(labels: Labels, rows: np.ndarray[Any, Any]) -> Program | None:
    """The program with these rows alone, by position; None if latents would be others, or rows as many as before."""
    program, before = labels.program, _shapes(labels.trace, labels.program.label)
    for counts in (True, False):  # a number may be that of the rows, or of something else
        shorter = program.select_rows(labels.num_rows, rows, counts=counts)
        try:
            trace = shorter.trace({})
        except NotNaiveBayes:
            continue
        # a program may have fixed the number of rows
        sites = [s for n, s in trace.items() if s["type"] == "sample" and (s["is_observed"] or n == program.label)]
        sizes = {np.shape(site["value"])[:1] for site in sites} | {site["fn"].batch_shape[:1] for site in sites}
        if _shapes(trace, program.label) == before and sizes <= {(), (len(rows),)}:
            return shorter
    return None


def _shapes(trace: Trace, label: str) -> dict[str, tuple[int, ...]]:
    latent = {n: s for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"] and n != label}
    return {name: np.shape(site["value"]) for name, site in latent.items()}


def compare_rows(labels: Labels, whole: Labels, sites: list[str]) -> dict[str, str]:
    """What the rows of each site are: ``CHANGED``, ``TOGETHER``, or columns of an argument as they are.

    Half of the rows are changed, then the other half: by far, or where the program fails, into copies of one row.
    """
    half = np.random.default_rng(6).permutation(np.arange(labels.num_rows) % 2 == 0)[:, None]
    runs: list[tuple[Program, Any, Any]] = [(labels.program, labels.trace, slice(None))]
    for change in (_move, lambda x, rows: np.where(rows, x[:1], x)):
        with suppress(NotNaiveBayes), warnings.catch_warnings(action="ignore"):
            for rows in (half, ~half):
                program = labels.program.change_rows(labels.num_rows, labels.old, change, rows)
                runs.append((program, program.trace({}), ~rows[:, 0]))
            break
    runs.append((whole.program, whole.trace, slice(0)))
    found: dict[str, str] = {}
    ends = {n: 0 for n, leaf in enumerate(labels.program.leaves) if _has_rows(leaf, labels)}
    for site in sites:
        cells = [_table(cells_of(trace[site]) if site in trace else ()) for _, trace, _ in runs]
        width = cells[0].shape[1]
        places = [(n, at) for n, end in ends.items() for at in range(end, _table(labels.program.leaves[n]).shape[1])]
        for one, (program, _, _) in zip(cells, runs, strict=True):
            leaves = program.leaves
            places = [(n, at) for n, at in places if _alike(_table(leaves[n])[:, at : at + width], one)]
        if places:  # of several sites with columns of one argument, these are as they are only in their order
            ends[places[0][0]] = places[0][1] + width
            found[site] = "an argument as it is, or columns of one"
        elif ends:
            stays = (_alike(one[stay], cells[0][stay]) for one, (_, _, stay) in zip(cells, runs, strict=True))
            found[site] = CHANGED if all(stays) else TOGETHER
        else:
            found[site] = "the program's own, as no argument has any"
    return found


def _move(x: Any, rows: Any) -> Any:
    """The table with far numbers of both signs in these rows, and NaN in the first two rows, if they can be."""
    if x.dtype.kind not in tuple("iuf"):
        return x ^ rows if x.dtype == bool else x
    number = np.arange(len(x))[:, None]
    far = (7 * x.astype(np.promote_types(x.dtype, np.int64)) + 1000) * (-1) ** number
    return np.where(rows, np.where(number > 1, far, np.nan) if x.dtype.kind == "f" else far, x)


def _table(x: Any) -> Any:
    """Numbers as [N, D]."""
    held = numbers_of(x) if hasattr(x, "dtype") else np.asarray(x)  # a frame has a dtype for each column
    if held is None or not held.size or held.dtype.kind not in tuple("biuf"):
        return np.zeros((0, 0))
    return held.reshape(len(held), -1)


def _alike(one: Any, other: Any) -> bool:
    """Whether numbers are the same, in single precision."""
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True)


def _has_rows(leaf: Any, labels: Labels) -> bool:
    """Whether an argument has numbers or other values of each row, beside the labels."""
    return np.shape(leaf)[:1] == (labels.num_rows,) and not holds(leaf, labels.old)


def make_source(fn: Callable[..., Any], whole: Labels, together: bool) -> Callable[..., ObservedRows]:
    """The function ``model.rows`` of a program, given with its example rows."""
    name, label = str(getattr(inner(fn), "__name__", type(fn).__name__)), whole.program.label
    given = whole.program.arguments
    empty = {n: v[:0] for n, v in given.items() if holds(v, whole.old) and len(v) == whole.num_rows}
    labels = {n: np.asarray(v) if isinstance(v, jax.Array) else v for n, v in empty.items()}
    first = next((n for n, v in given.items() if any(_has_rows(leaf, whole) for leaf in jax.tree.leaves(v))), "")

    def rows(model: NaiveBayes, *args: Any, **kwargs: Any) -> ObservedRows:
        bound = inspect.signature(inner(fn)).bind_partial(*args, **kwargs)
        of_jax = any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(bound.arguments))
        sizes = [np.shape(leaf)[0] for leaf in jax.tree.leaves(bound.arguments.get(first)) if np.ndim(leaf)]
        for missing in [n for n in labels if sizes and bound.arguments.get(n) is None]:  # class 0
            zeros = np.zeros((sizes[0], *labels[missing].shape[1:]))
            bound.arguments[missing] = type_like(labels[missing], zeros)
        program = Program(fn, bound.args, bound.kwargs, label)
        if of_jax:
            cells = _observe(program, model)
        else:
            with jax.enable_x64(True), by_numpy():
                cells = to_host(_observe(program.in_double(), model))
        if together:
            warn(
                f"each row that {name!r} observes depends on the others given with it, as on their mean, so that rows "
                "of other calls differ: compute such numbers before, and pass them as arguments"
            )
        return ObservedRows(cells, name)

    rows.__name__ = name
    return rows


def _observe(program: Program, model: NaiveBayes) -> dict[str, Any]:
    """The cells of each observed site, with totals where these are cells too."""
    cells, spelling = {}, model.spelling
    with allow_promotion():
        # the cells do not depend on the latents
        trace = program.trace({}, draw=lambda _, prior, __, shape: value_inside(prior, shape))
        for block, site, _ in spelling.cells:  # type: ignore[union-attr]
            found = trace.get(site)
            if found is None or not found["is_observed"]:
                raise ValueError(f"the program does not observe {site!r} with these arguments: give it the site's data")
            cells[site] = cells_of(found)
            if num_parts(model.families[block]) > 1:
                cells[site] = cells[site], jnp.broadcast_to(base_of(found["fn"]).total_count, cells[site].shape)
    return cells
