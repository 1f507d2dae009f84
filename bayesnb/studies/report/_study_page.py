"""A study as files: its frame, its differences, a table for LaTeX, pictures, and a page that has them all."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.studies.plots._studies import num_pages
from bayesnb.studies.report._study import Experiment

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }} th, td {{ padding: .1rem .6rem; text-align: right }} img {{ max-width: 100% }}
</style></head><body><h1>{title}</h1>{body}</body></html>
"""


def write_study(study: Experiment, folder: Path, reference: str, rope: float) -> list[str]:
    """Write the files, and return their names; figures are of the first metric."""
    metric, differences = study.metrics[0], study.differences(reference, rope, study.metrics[0])
    study.frame().to_csv(folder / "cells.csv", index=False)
    differences.to_csv(folder / "differences.csv", index=False)
    study.to_latex(folder / "table.tex", metric, rope=rope)
    curves = ["curves.png", *(f"curves-{page}.png" for page in range(2, num_pages(study) + 1))]
    for page, name in enumerate(curves, 1):
        study.plot(folder / name, metric, page=page)
    names = ["cells.csv", "differences.csv", "table.tex", *curves, "report.html"]
    pictures = [base64.b64encode((folder / name).read_bytes()).decode() for name in curves]
    alt = f"{escape(STUDY_METRICS[metric].heading)} against training rows"
    failed = study.failures()[["data_set", "method", "size", "status", "reason"]].drop_duplicates()
    parts = [
        study._repr_html_(),
        *(f'<p><img alt="{alt}" src="data:image/png;base64,{picture}"></p>' for picture in pictures),
        f"<h2>Differences from {escape(reference)}</h2>",
        differences.to_html(index=False, border=0, float_format="{:.4g}".format),
        f"<h2>Cells without a value</h2>{failed.to_html(index=False, border=0)}" if len(failed) else "",
    ]
    title = f"{len(study.methods)} methods on {', '.join(study.sets)}"
    (folder / "report.html").write_text(PAGE.format(title=escape(title), body="".join(parts)), encoding="utf-8")
    return names
