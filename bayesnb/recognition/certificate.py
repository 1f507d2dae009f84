"""The certificate: the composed model has the program's own density, site by site where they can be compared."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import jax
import numpy as np
from numpyro import handlers
from numpyro.infer.util import compute_log_probs

from bayesnb.arrays.interpreter import evaluate
from bayesnb.arrays.pytree import pytree
from bayesnb.arrays.rank_promotion import allow_rank_promotion
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.recognition.blocks import Block
from bayesnb.recognition.classes import Labels
from bayesnb.recognition.missing_cells import base_of, join_missing_cells, mask_of
from bayesnb.recognition.refusals import NotNaiveBayes
from bayesnb.recognition.running import given, numbers

TOLERANCE = 1e-9
"""The largest difference of log densities, relative to the sum of their parts' sizes."""


@pytree
class Certificate:
    """What was recognised, and the largest relative difference of log densities over all checks."""

    lines: tuple[str, ...] = field(metadata={"static": True})
    difference: float
    checks: int

    def __repr__(self) -> str:
        checked = (
            f"the log density equals the program's at {self.checks} combinations of parameters, labels and rows; the "
            f"largest relative difference is {self.difference:.1e}"
        )
        return "\n".join(["Certificate", *(f"  {line}" for line in (*self.lines, checked))])


class Checks:
    """Comparisons of the program's log densities with the composed model's."""

    def __init__(self, model: NaiveBayes, labels: Labels, blocks: list[Block], *, own_label: bool) -> None:
        self.model, self.labels, self.blocks, self.own_label = model, labels, blocks, own_label
        self.spelling: Any = model.spelling
        self.largest, self.count = 0.0, 0
        self.seen: dict[str, Any] = {}
        """Whether any row compared had a cell in each column, by site."""

    def compare(self, labels: Labels, y: np.ndarray[Any, Any], params: dict[str, Any], key: Any, cells: Any) -> None:
        """Compare at one point: these labels and parameters, with cells of observed sites by name."""
        program = labels.program_with(y)
        values = dict(cells)
        if labels.site:
            values[program.label] = labels.of_site(y)
        latents = {site: value for site, value in params.items() if site != "class_probs" or site in self._names}

        def run(latents: dict[str, Any]) -> Any:
            fn = handlers.seed(given(program.fn, values, key), key)
            densities, trace = compute_log_probs(fn, program.args, dict(program.kwargs), latents)
            trace = join_missing_cells(trace, program.label)
            of_sites = {name: densities[s["name"]] for name, s in trace.items() if s["type"] == "sample"}
            return of_sites, {b.site: _cells(trace[b.site]) for b in self.blocks}

        with allow_rank_promotion():
            theirs, cells = numbers(run, latents)
            X = {b.site: b.rows(*cells[b.site]) for b in self.blocks}
            for site, rows in X.items():
                first = rows[0] if isinstance(rows, tuple) else rows
                self.seen[site] = self.seen.get(site, False) | ~np.isnan(first).all(axis=0)
            ours = evaluate(_log_probs, self.model, X[self.blocks[0].site] if self.model.single else X, y, params)
        skipped = {"class_probs", self.spelling.label} if self.own_label else set()
        if not self._names & {"class_probs"}:
            skipped |= {"class_probs"}
        mine = {name: float(np.sum(value)) for name, value in ours.items() if name not in skipped}
        own = {name: float(np.sum(value)) for name, value in theirs.items()}
        for name in own.keys() & mine.keys():
            self._compare(f"site {name!r}", own[name], mine[name], [own[name], mine[name]])
        self._compare("the program", sum(own.values()), sum(mine.values()), [*own.values(), *mine.values()])

    def require_cells(self) -> None:
        """Refuse a mask that leaves out a whole column: the model would count its cells."""
        for site, seen in self.seen.items():
            if not seen.all():
                raise NotNaiveBayes(
                    f"site {site!r}: the mask leaves out every cell of column {np.argmin(seen)}: leave the column out "
                    "of the program, or give example rows that have it"
                )

    @property
    def _names(self) -> set[str]:
        return {site.name for site in self.spelling.sites}

    def _compare(self, what: str, theirs: float, ours: float, parts: list[float]) -> None:
        size = 1.0 + sum(abs(part) for part in parts)
        difference = abs(theirs - ours) / size
        if not difference <= TOLERANCE:
            raise NotNaiveBayes(
                f"{what} has another density than the Naive Bayes model that it seems to be, {theirs:.10g} instead of "
                f"{ours:.10g}: it depends on something else too, such as labels, other rows, cells or classes"
            )
        self.largest, self.count = max(self.largest, difference), self.count + 1


def _log_probs(model: NaiveBayes, X: Any, y: Any, params: dict[str, Any]) -> Any:
    return compute_log_probs(model, (X, y), {}, params)[0]


def _cells(site: dict[str, Any]) -> Any:
    return site["value"], getattr(base_of(site["fn"]), "total_count", None), mask_of(site)


def key_of(seed: int) -> Any:
    """A random key for a run of the program."""
    return jax.random.key(seed)
