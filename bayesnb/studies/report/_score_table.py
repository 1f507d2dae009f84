"""The scores of a study as a paper shows them: the best of each set in bold, those equal to it in practice marked."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.studies.comparison._differences import difference_of
from bayesnb.studies.comparison._metrics import SET_METRICS, STUDY_METRICS
from bayesnb.studies.comparison._paired import check_rope
from bayesnb.tables.frames._series import listing

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)
"""What LaTeX reads as something else."""


def score_table(
    study: Any, metric: str = "log_loss", size: int | None = None, rope: float = 0.01, *, latex: bool = True
) -> str:
    """The table of a study at one size of training sets, by default the largest of each set; of LaTeX, or of HTML.

    A method is tied with the best of a set if it is more probably equal to it, to within the ROPE, than worse or
    better; what tells is the estimator that the design allows, as in ``differences``. Methods without a value are
    left out, and named below.
    """
    check_rope(rope)
    scores = study.scores(metric, size)
    lacking = [str(name) for name in scores if scores[name].isna().all()]
    scores = scores.drop(columns=lacking)
    ascending, estimators = not STUDY_METRICS[metric].higher_is_better, list[str]()
    order = scores.rank(axis=1, ascending=ascending, method="min")
    bold, star = (r"\textbf{%s}", r"%s$^\ast$") if latex else ("<b>%s</b>", "%s*")
    rows = []
    for name, ranks in order.iterrows():
        own, best = study.sizes(name)[-1] if size is None else size, ranks.idxmin() if ranks.notna().any() else None
        cells = [_plain(name, latex), f"{own:,}".replace(",", "{,}" if latex else ",")]
        for method, rank in ranks.items():
            score = f"{scores.loc[name, method]:.3f}"
            if np.isnan(rank):
                score = "failed"
            elif rank == 1:
                score = bold % score
            else:
                found, _ = difference_of(study, str(name), own, str(method), str(best), metric)
                estimators.append(found.estimator)
                score = star % score if found.regions(rope).within > 0.5 else score
            cells.append(score)
        rows.append(cells)
    ranks = scores.rank(axis=1, ascending=ascending, na_option="bottom").mean()
    rows.append(["mean rank", "", *(f"{rank:.2f}" for rank in ranks)])
    names = ["data set", "$n$" if latex else "n", *(_plain(name, latex) for name in scores)]
    table, splits = pd.DataFrame(rows, columns=names), sorted({len(study.splits(name)) for name in scores.index})
    how = ", ".join(dict.fromkeys(estimators)) or "no other"
    heading, seen = STUDY_METRICS[metric].heading, ""
    if metric in SET_METRICS:
        heading += f" (s = {study.frame()['pseudo_rows'].max():g})"
    if lacking:
        seen = f" Without a value: {listing(lacking)}."
    note = (
        f"Mean {heading} of {' or '.join(map(str, splits))} splits; n training rows. Bold: the best; *: more probably "
        f"within {rope:g} of the best than not ({how}).{seen}"
    )
    if not latex:
        return f"{table.to_html(index=False, escape=False)}<p>{escape(note)}</p>"
    lines = table.to_latex(index=False, escape=False, column_format="lr" + "r" * scores.shape[1]).splitlines()
    below = rf"\par\smallskip{{\footnotesize {_plain(note, latex)}\par}}"  # within the table it would widen a column
    return "\n".join([r"% needs \usepackage{booktabs}", *lines[:-3], r"\midrule", *lines[-3:], below, ""])


def _plain(text: Any, latex: bool) -> str:
    return str(text).translate(LATEX) if latex else escape(str(text))
