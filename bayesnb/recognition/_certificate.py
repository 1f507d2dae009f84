"""The certificate: the composed model has the program's own density, site by site where they can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer.util import compute_log_probs

from bayesnb.compute.arrays._placement import allow_promotion, leading_size, pytree
from bayesnb.compute.jaxpr_numpy import evaluate
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.recognition._class_parameters import Labels, lopsided_labels, uneven_labels
from bayesnb.recognition._matching import CLASS_PROBS, Matches
from bayesnb.recognition._observed_blocks import Block
from bayesnb.recognition._observed_rows import shorten
from bayesnb.recognition._points import Points
from bayesnb.recognition._user_program import (
    CORNERS,
    NotNaiveBayes,
    base_of,
    draw_far,
    given,
    join_missing_cells,
    mask_of,
    numbers,
)

BY_JAX = (
    ", where JAX computes it and not numpy: compute what depends on random keys or odd dtypes before, and pass it as "
    "an argument"
)

ELSEWHERE = ": it depends on something else too, such as labels, other rows, cells or classes"

EXCHANGED = ", once the cells of each column are exchanged between rows: it depends on cells of other columns or rows"

FEWER = (
    ", with a row less: it depends on the number of rows, or on a sum or mean of them; compute such numbers before, "
    "and pass them as arguments"
)

ALL = ", over all rows: some of them are unlike those by which it was recognised"

FAR_OUT = (
    ", where latents are far from the middle of their priors: leave out what changes a parameter or a prior there, "
    "such as jnp.clip or jnp.where"
)


@pytree
class Certificate:
    """What was recognised, and the largest relative difference of log densities over all checks."""

    lines: tuple[str, ...] = field(metadata={"static": True})
    difference: float
    checks: int

    def __repr__(self) -> str:
        checked = (
            f"the log density equals the program's at {self.checks} combinations of parameters, labels and rows, one "
            f"of them as JAX compiles it; the largest relative difference is {self.difference:.1e}"
        )
        return "\n".join(["Certificate", *(f"  {line}" for line in (*self.lines, checked))])


class Checks:
    """Comparisons of the program's log densities with the composed model's."""

    def __init__(self, model: NaiveBayes, blocks: list[Block], *, own_label: bool) -> None:
        self.model, self.blocks = model, blocks
        spelling: Any = model.spelling
        self.names = {site.name for site in spelling.sites} | {name for name, _ in spelling.hyper}
        self.names |= set() if model.program_prior is None else model.program_prior.latents
        parts = [part for site in spelling.canonical for part in site.parts]
        self.bent = {part.source: part.scale for part in parts if part.link not in ("identity", "minus")}
        self.skipped = {"class_probs"} - self.names | ({spelling.label} if own_label else set())
        self.largest, self.count = 0.0, 0
        self.seen: dict[str, Any] = {}
        """Whether any row compared had a cell in each column, by site."""

    def compare(
        self, labels: Labels, y: np.ndarray[Any, Any], latents: Mapping[str, Any], key: Any, reason: str
    ) -> None:
        """Compare with these labels at P points, the values [P, ...] of all latents; far out if there are none.

        The ``reason`` is why densities may differ. The first point of all is computed by JAX itself, too.
        """
        program = labels.program_with(y)
        values = labels.of_site(y)

        def run(latents: Mapping[str, Any], corner: Any) -> Any:
            def draw(name: str, prior: Any, key: Any, shape: tuple[int, ...]) -> Any:
                scale = self.bent.get(name)
                widest = np.inf if scale is None else 1.0 / np.abs(scale or 1.0).max()
                return draw_far(prior, key, shape, corner, widest=widest)

            fn = handlers.seed(given(program.fn, {**values, **latents}, key, draw), key)
            densities, trace = compute_log_probs(fn, program.args, dict(program.kwargs), {})
            sites = {n: s for n, s in join_missing_cells(trace, program.label).items() if s["type"] == "sample"}
            latents = {name: site["value"] for name, site in sites.items() if name in self.names}
            of_sites = {name: jnp.sum(densities[site["name"]]) for name, site in sites.items()}
            return of_sites, latents, {b.site: _cells(sites[b.site]) for b in self.blocks}

        corners = CORNERS[: len(next(iter(latents.values()), CORNERS))]
        with allow_promotion():
            of_jax = {} if self.count else _by_jax(lambda *at: run(*at)[0], jax.tree.map(lambda v: v[0], latents), None)
            theirs, latents, cells = numbers(jax.vmap(run), latents, corners)
            X = {b.site: b.rows(*(None if part is None else part[0] for part in cells[b.site])) for b in self.blocks}
            for site, rows in X.items():
                first = rows[0] if isinstance(rows, tuple) else rows
                self.seen[site] = self.seen.get(site, False) | ~np.isnan(first).all(axis=0)
            params = self._with_class_probs(latents)
            ours = evaluate(_log_probs, self.model, X[self.blocks[0].site] if self.model.single else X, y, params)
        ours = {name: value for name, value in ours.items() if name not in self.skipped}
        for at in range(len(corners)):
            own, mine = ({n: float(value[at]) for n, value in parts.items()} for parts in (theirs, ours))
            for name in own.keys() & mine.keys():
                self._require_equal(f"site {name!r}", {"": own[name]}, {"": mine[name]}, reason)
            self._require_equal("the program", own, mine, reason)
        for name, density in of_jax.items():  # numbers of the program in single precision may differ in the last digits
            self._require_equal(f"site {name!r}", {"": float(density)}, {"": float(theirs[name][0])}, BY_JAX, 1e-6)

    def require_cells(self) -> None:
        """Refuse a mask that leaves out a whole column: the model would count its cells."""
        for site, seen in self.seen.items():
            if not seen.all():
                raise NotNaiveBayes(
                    f"site {site!r}: the mask leaves out every cell of column {np.argmin(seen)}: leave the column out "
                    "of the program, or give example rows that have it"
                )

    def _with_class_probs(self, latents: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of the composed model, which has class probabilities where the program has none."""
        probs, num_classes = self.model.class_probs, int(self.model.num_classes or 1)
        probs = np.full(num_classes, 1.0 / num_classes) if probs is None else np.asarray(probs)
        return {"class_probs": np.broadcast_to(probs, (leading_size(latents), num_classes)), **latents}

    def _require_equal(
        self, what: str, own: dict[str, float], mine: dict[str, float], reason: str, tolerance: float = 1e-9
    ) -> None:
        theirs, ours = sum(own.values()), sum(mine.values())
        size = 1.0 + sum(abs(part) for part in (*own.values(), *mine.values()))
        difference = abs(theirs - ours) / size
        # far out both may be impossible, or undefined
        agree = difference <= tolerance or (reason is FAR_OUT and np.array_equal(theirs, ours, equal_nan=True))
        if not agree:
            raise NotNaiveBayes(
                f"{what} has another density than the Naive Bayes model that it seems to be, {theirs:.10g} instead of "
                f"{ours:.10g}{reason}"
            )
        self.largest, self.count = float(np.fmax(self.largest, difference)), self.count + 1


def _log_probs(model: NaiveBayes, X: Any, y: Any, params: dict[str, Any]) -> Any:
    """The log density of each site, [P]."""

    def at(params: dict[str, Any]) -> Any:
        return {name: jnp.sum(density) for name, density in compute_log_probs(model, (X, y), {}, params)[0].items()}

    return jax.vmap(at)(params)


def _by_jax(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` by JAX itself, compiled."""
    with jax.core.eval_context():
        return numbers(function, *args, by=lambda f, *args: jax.tree.map(np.asarray, jax.jit(f)(*args)))


def _cells(site: dict[str, Any]) -> Any:
    return site["value"], getattr(base_of(site["fn"]), "total_count", None), mask_of(site)


def certify(model: NaiveBayes, labels: Labels, blocks: list[Block], points: Points, whole: Labels) -> Checks:
    """Compare the program with the composed model: as it is, with cells exchanged, a row less, far out, on all rows."""
    num_rows = labels.num_rows
    checks = Checks(model, blocks, own_label=not labels.site)
    random, num_classes = np.random.default_rng(5), int(model.num_classes or 0)
    whole_rows = any(block.totals is not None and block.family.one_feature for block in blocks)
    orders = np.stack([random.permutation(num_rows) for _ in range(64)], axis=1)
    programs = [(labels, ELSEWHERE)]

    def mix(x: Any) -> Any:
        columns = np.arange(x.shape[1])
        return x[orders[:, columns * (not whole_rows) % orders.shape[1]], columns]

    mixed = labels.program.change_rows(num_rows, labels.old, mix)
    programs.append((replace(labels, program=mixed), EXCHANGED))
    shorter = _one_row_less(labels)
    if shorter is not None:
        programs.append((shorter, FEWER))

    def latents(first: int, last: int) -> dict[str, Any]:
        return {name: site.values[first:last] for name, site in points.latents.items()}

    for number, (variant, reason) in enumerate(programs):
        labellings = [lopsided_labels(num_rows, num_classes, most) for most in (0, num_classes - 1)]
        if number:
            labellings = [uneven_labels(variant.num_rows, num_classes)]
        for turn, y in enumerate(labellings):
            checks.compare(variant, y, latents(number + turn, number + turn + 4), jax.random.key(10 + number), reason)
    checks.compare(labels, uneven_labels(num_rows, num_classes), {}, jax.random.key(13), FAR_OUT)
    if whole is not labels and whole.old is not None:  # the rows that no probe saw
        checks.compare(whole, whole.old.ravel().astype(int), latents(0, 1), jax.random.key(20), ALL)
    checks.require_cells()
    return checks


def _one_row_less(labels: Labels) -> Labels | None:
    """The labels of the program with a row less, if its rows are arguments."""
    rows = np.arange(labels.num_rows - 1)
    shorter = shorten(labels, rows) if labels.old is not None and len(rows) else None
    if shorter is None:
        return None
    return replace(labels, program=shorter, shape=(len(rows), *labels.shape[1:]), old=labels.old[rows])


def describe(
    model: NaiveBayes,
    own: frozenset[str],
    errors: Mapping[str, float],
    matches: Matches,
    labels: Labels,
    checks: Checks,
    found: Mapping[str, str],
) -> Certificate:
    """The certificate of a model: ``own`` sites have priors of their own, ``found`` says what the rows are, by site."""
    lines = [f"{model.num_classes} classes, label {labels.program.label!r}"]
    if not labels.site:
        lines[0] += ", an argument of the program: the class prior is ours"
    if CLASS_PROBS in own:
        lines[0] += f", {matches.fed[CLASS_PROBS].parts[0]}, a prior of its own"
    for block in matches.blocks:
        family = model.families[block.name]
        latent = "; the latents of missing cells are integrated out" * matches.points.observed[block.site].latent_cells
        sampled = matches.hyper or not own.isdisjoint(map(block.canonical, block.params))
        law, how = type(family).__name__, "sampled" if sampled else "conjugate"
        reading: Any = block.reading
        if reading.unknown:
            law = repr(family) if block.integrated else f"{law}({reading.kind.__name__})"
        if block.sampled:
            how = f"sampled, from sums that are off by {errors[block.name]:.0e} nats at most in the example rows"
        elif block.name in errors:
            how = f"by quadrature, off by {errors[block.name]:.0e} nats at most in the example rows"
        lines.append(f"site {block.site!r}: {law}, {block.num_columns} columns, {how}{latent}")
        lines.append(f"  rows: {found[block.site]}")
        lines += [f"  {short}: known" for short in block.known]
        lines += [f"  {short}: as the program has it" for short in block.sampled]
        for short in block.params:
            conjugate = block.canonical(short) not in own and not block.integrated
            prior = "conjugate" if conjugate else "a prior of its own"
            parts = dict.fromkeys(map(str, matches.fed[block.canonical(short)].parts))
            lines += [f"  {short}: {part}, {prior}" for part in parts]
    return Certificate(tuple(lines), checks.largest, checks.count)
