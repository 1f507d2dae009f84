"""Which arguments of a program hold its rows: a prior's table may happen to have as many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.recognition.classes import Labels, same
from bayesnb.recognition.refusals import NotNaiveBayes
from bayesnb.recognition.running import Program, Trace, numbers_of


def hold_hyperparameters(labels: Labels) -> Program:
    """The program with those arguments held that only priors read, although they have as many rows as the data.

    The arguments are rolled by a row, and the latents' densities compared; cells and labels are looked at no further.
    """
    program, num_rows, before = labels.program, labels.num_rows, labels.trace
    sites = {name: site for name, site in before.items() if site["type"] == "sample"}
    rows = [labels.old, *(site["value"] for site in sites.values() if site["is_observed"])]
    held = [numbers_of(leaf) for leaf in program.leaves]
    long = [(n, leaf) for n, leaf in enumerate(held) if leaf is not None and leaf.shape[:1] == (num_rows,)]
    suspects = [n for n, leaf in long if not _is_one_of(leaf, rows)]
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


def _is_one_of(leaf: Any, arrays: list[Any]) -> bool:
    return any(
        array is not None and np.shape(leaf) == np.shape(array) and np.array_equal(leaf, array, equal_nan=True)
        for array in arrays
    )
