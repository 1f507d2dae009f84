"""The scores of a study as a paper shows them: the best of each set in bold, those equal to it in practice marked."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
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
        "±": r"$\pm$",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)
"""What LaTeX reads as something else."""

TEXT_WIDTH, GAP = 345.0, 3.0  # points: of LaTeX's article, whose lines are the shortest, and on either side of a column
LETTER, WIDE, THIN = 4.3, 8.3, 2.8  # points of a letter in footnotesize: most; capitals, m and w; i, l and points
HEADER, LABEL = 12, 26  # letters on a line of a column's header, and of a row's name


def heading_of(study: Any, metric: str) -> str:
    """A metric's name, with the pseudo-rows of sets of classes."""
    heading = STUDY_METRICS[metric].heading
    return f"{heading} (s = {study.frame()['pseudo_rows'].max():g})" if metric in SET_METRICS else heading


def score_table(
    study: Any, metric: str = "log_loss", size: int | None = None, rope: float = 0.01, *, latex: bool = True
) -> str:
    """The table of a study at one size of training sets, by default the largest of each set; of LaTeX, or of HTML.

    A method is tied with the best of a set if it is more probably equal to it, to within the ROPE, than worse or
    better; what tells is the estimator that the design allows, as in ``differences``. Methods without a value are
    left out, and named below. Sets are rows in LaTeX if that fits a line, or else methods; what is wider is cut into
    tables one below the other.
    """
    check_rope(rope)
    scores = study.scores(metric, size)
    lacking = [str(name) for name in scores if scores[name].isna().all()]
    scores = scores.drop(columns=lacking)
    ascending, estimators = not STUDY_METRICS[metric].higher_is_better, list[str]()
    order = scores.rank(axis=1, ascending=ascending, method="min")
    bold, star, sign = (r"\textbf{%s}", r"$^\ast$", r"$\pm$") if latex else ("<b>%s</b>", "*", "±")
    sizes = [study.sizes(name)[-1] if size is None else size for name in scores.index]
    cells = pd.DataFrame("failed", index=scores.index, columns=scores.columns)
    for (name, ranks), own in zip(order.iterrows(), sizes, strict=True):
        best = ranks.idxmin() if ranks.notna().any() else None
        for method, rank in ranks.dropna().items():
            one, _ = difference_of(study, str(name), own, str(method), None, metric)
            mean, half = f"{scores.loc[name, method]:.3f}", f" {sign} {one.half:.3f}" if np.isfinite(one.half) else ""
            if rank == 1:
                mean = bold % mean
            else:
                found, _ = difference_of(study, str(name), own, str(method), str(best), metric)
                estimators.append(found.estimator)
                half += star if found.regions(rope).within > 0.5 else ""
            cells.loc[name, method] = mean + half
    ranks = scores.rank(axis=1, ascending=ascending, na_option="bottom").mean().map("{:.2f}".format)
    splits, how = sorted({len(study.splits(name)) for name in scores.index}), ", ".join(dict.fromkeys(estimators))
    note = (
        f"Mean {heading_of(study, metric)} of {' or '.join(map(str, splits))} splits ± the margin of error (95 %); n "
        f"training rows. Bold: the best; *: more probably within {rope:g} of the best than not ({how or 'no other'})."
    )
    note += f" Without a value: {listing(lacking)}." if lacking else ""
    if not latex:
        cells.loc["mean rank"] = ranks
        cells.insert(0, "n", [*(f"{own:,}" for own in sizes), ""])
        cells = cells.rename(index=escape, columns=escape).rename_axis(index=None, columns=None)
        return f"{cells.to_html(escape=False)}<p>{escape(note)}</p>"
    numbers = [f"{own:,}".replace(",", "{,}") for own in sizes]
    columns = [
        ["data set", *(_stack(str(name), LABEL, "l") for name in cells.index), "mean rank"],
        ["$n$", *numbers, ""],
        *([_stack(str(name), HEADER, "r"), *cells[name], ranks[name]] for name in cells),
    ]
    if sum(map(_width, columns)) <= TEXT_WIDTH:
        tables = [_tabular(columns, after=(1, len(cells) + 1))]
    else:
        names = ["method", "$n$", *(_stack(str(name), LABEL, "l") for name in cells)]
        heads = zip(cells.index, numbers, strict=True)
        columns = [[_stack(str(name), HEADER, "r"), own, *cells.loc[name]] for name, own in heads]
        tables = [_tabular(part, after=(2,)) for part in _parts(names, [*columns, ["mean rank", "", *ranks]])]
    letters = rf"{{\footnotesize\setlength{{\tabcolsep}}{{{GAP:g}pt}}%"
    below = rf"\par\smallskip\noindent {note.translate(LATEX)}\par}}"  # within a table it would widen a column
    return "\n".join([r"% needs \usepackage{booktabs}", letters, "\n\\par\\medskip\n".join(tables), below, ""])


def _parts(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[list[Sequence[str]]]:
    """The columns of tables that fit a line, as many in each, with the names of the rows in all of them."""
    for most in range(len(columns), 0, -1):
        size = -(-len(columns) // -(-len(columns) // most))
        parts = [[names, *columns[start : start + size]] for start in range(0, len(columns), size)]
        if all(sum(map(_width, part)) <= TEXT_WIDTH for part in parts):
            break
    return parts


def _tabular(columns: Sequence[Sequence[str]], after: Sequence[int]) -> str:
    """A table with a rule after some of its rows."""
    lines = [" & ".join(row) + r" \\" for row in zip(*columns, strict=True)]
    for place in reversed(after):
        lines.insert(place, r"\midrule")
    begin = rf"\noindent\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}"
    return "\n".join([begin, r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"])


def _stack(name: str, letters: int, side: str) -> str:
    """A name on as many lines as it needs."""
    lines = [line.translate(LATEX) for line in textwrap.wrap(name, letters) or [name]]
    return lines[0] if len(lines) == 1 else rf"\shortstack[{side}]{{" + r"\\".join(lines) + "}"


def _width(column: Sequence[str]) -> float:
    """The width of a column in points, rather too large than too small."""
    lines = [line for text in column for line in text.replace(r"\pm", "m").replace(r"\ast", "i").split(r"\\")]
    shown = [re.sub(r"\\shortstack..\]|\\text[a-z]+|[\\{}$^]", "", line) for line in lines]
    size = {**dict.fromkeys("mw%#&", WIDE), **dict.fromkeys(" .,:ijlt", THIN)}
    return 2 * GAP + max(sum(WIDE if c.isupper() else size.get(c, LETTER) for c in line) for line in shown)
