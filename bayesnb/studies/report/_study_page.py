"""A study as files: its cells, how its methods stand, a table for LaTeX, pictures, and a page that has them all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bayesnb.core.storage._whole_file import whole_file
from bayesnb.studies.comparison._differences import ALL_SETS, LARGEST
from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.studies.comparison._standings import KEYS, SURE, standings
from bayesnb.studies.plots._studies import draw_curve, draw_curves, draw_differences, draw_forest, draw_keys, num_pages
from bayesnb.studies.report._glossary import read_words
from bayesnb.studies.report._page import PAGE_DPI, embed, png, templates
from bayesnb.studies.report._score_table import heading_of
from bayesnb.studies.report._study import Experiment
from bayesnb.studies.report._study_headline import headline


def write_study(study: Experiment, folder: Path, reference: str = "best", rope: float = 0.01) -> list[str]:
    """Write the files, and return their names; pictures are of the first metric."""
    metric = study.metrics[0]
    chosen = study._reference(reference, metric)
    every = standings(study, metric, chosen, rope)
    largest = {name: standings(study, name, chosen, rope, LARGEST) for name in study.metrics}
    numbers = pd.concat([every, *largest.values()], ignore_index=True).drop_duplicates([*KEYS, "metric"])
    contents = {
        "cells.csv": study.frame().to_csv(index=False).encode(),
        "scores.csv": numbers.to_csv(index=False).encode(),
        "table.tex": study.to_latex(metric=metric, rope=rope).encode(),
    }
    for page in range(1, num_pages(study) + 1):
        contents["curves.png" if page == 1 else f"curves-{page}.png"] = png(draw_curves(study, metric, page), 150)
    if len(apart := _differences(largest[metric])):
        contents["forest.png"] = png(draw_differences(apart, rope), 150)
    contents["report.html"] = render_study(study, every, largest, rope, chosen=chosen != reference).encode()
    for name, content in contents.items():
        with whole_file(folder / name) as handle:
            handle.write(content)
    return [*contents]


def render_study(
    study: Experiment, every: pd.DataFrame, largest: Mapping[str, pd.DataFrame], rope: float, *, chosen: bool
) -> str:
    """The page of a study.

    Args:
        every: ``standings`` of the first metric at each size.
        largest: Those of each metric at the largest size of each set.
        rope: Up to which a difference is none.
        chosen: Whether the reference is the best of these numbers.
    """
    metric, first = study.metrics[0], largest[study.metrics[0]]
    rows, sizes = _by_place(every), {name: study.sizes(name) for name in study.sets}
    found = {name: {place[0]: of_set for place, of_set in _by_place(table).items()} for name, table in largest.items()}
    together = found[metric][ALL_SETS]
    smallest = every[every["size"] == every["data_set"].map({name: own[0] for name, own in sizes.items()})]
    apart, of_sets = _differences(first), first[(first["data_set"] != ALL_SETS) & first["mean"].notna()]
    figures = {f"curve of {name}": draw_curve(study, name, metric) for name in study.sets}
    figures |= {f"forest of {name}": draw_forest(apart, name, rope) for name in apart["method"].unique()}
    figures |= {f"line of {name}": figure for name, figure in draw_keys(study.methods).items()}
    notes = [text for data, _ in study._plan.sets.values() for text in data.table.warnings] if study._plan else []
    failed = study.failures().groupby(["data_set", "method", "size", "reason"], sort=False)["split"].nunique()
    page = templates().get_template("study.html.jinja")
    return page.render(
        sets=study.sets,
        sizes=sizes,
        splits=max(len(study.splits(name)) for name in study.sets),
        methods=sorted(study.methods, key=lambda method: together[method]["rank"]),
        metrics={name: STUDY_METRICS[name]._replace(heading=heading_of(study, name)) for name in study.metrics},
        reference=first["reference"].iloc[0],
        chosen=chosen,
        rope=f"{rope:g}",
        sure=f"{SURE:g}",
        sentences=headline(first, smallest if any(len(own) > 1 for own in sizes.values()) else None, rope),
        rows=rows,
        found=found,
        together=together,
        differences=apart.to_dict("records"),
        estimators=of_sets["estimator"].dropna().unique().tolist(),
        notes=notes,
        failures=failed.reset_index(name="splits").to_dict("records"),
        figures={name: embed(png(figure, PAGE_DPI)) for name, figure in figures.items()},
        words=read_words(),
    )


def _differences(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that differ from the reference, as ``Experiment.differences`` has them."""
    found = table[table["minus_reference"].notna()]
    return found.assign(mean=found["minus_reference"])


def _by_place(table: pd.DataFrame) -> dict[tuple[str, int], dict[str, dict[str, Any]]]:
    """The rows by set and size, and there by method."""
    found: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for row in table.to_dict("records"):
        found.setdefault((row["data_set"], row["size"]), {})[row["method"]] = row
    return found
