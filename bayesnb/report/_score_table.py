"""The scores of a study as a paper shows them: the best of each set in bold, those equal to it in practice marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from bayesnb.comparison._differences import difference_of, values_of
from bayesnb.comparison._metrics import STUDY_METRICS
from bayesnb.comparison._paired import check_rope

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)
"""What LaTeX reads as something else."""


@dataclass(frozen=True)
class ScoreTable:
    """Mean scores by set and method, as text.

    Attributes:
        methods: Names of the columns.
        rows: For each set its name, the size of its training sets, and the scores.
        best: For each row which scores are the best.
        tied: And which of the others are equal to the best in practice.
        ranks: The mean rank of each method, 1 for the best.
        note: What the table shows.
    """

    methods: Sequence[str]
    rows: Sequence[tuple[str, int, Sequence[str]]]
    best: np.ndarray[Any, Any]
    tied: np.ndarray[Any, Any]
    ranks: Sequence[str]
    note: str

    def latex(self) -> str:
        """The ``tabular`` of the package booktabs, with the note below."""
        columns = len(self.methods) + 2
        lines = [
            "% needs \\usepackage{booktabs}",
            f"\\begin{{tabular}}{{lr{'r' * len(self.methods)}}}",
            "\\toprule",
            " & ".join(["data set", "$n$", *(name.translate(LATEX) for name in self.methods)]) + r" \\",
            "\\midrule",
        ]
        for (name, size, scores), best, tied in zip(self.rows, self.best, self.tied, strict=True):
            cells = [
                f"\\textbf{{{score}}}" if b else f"{score}$^\\ast$" if t else score
                for score, b, t in zip(scores, best, tied, strict=True)
            ]
            lines.append(" & ".join([name.translate(LATEX), f"{size:,}".replace(",", "{,}"), *cells]) + r" \\")
        lines += ["\\midrule", " & ".join(["mean rank", "", *self.ranks]) + r" \\", "\\bottomrule"]
        lines += [f"\\multicolumn{{{columns}}}{{p{{.95\\linewidth}}}}{{\\footnotesize {self.note.translate(LATEX)}}}"]
        return "\n".join([*lines, "\\end{tabular}", ""])

    def html(self) -> str:
        """The same as a table of HTML, for notebooks."""

        def row(cells: Sequence[str], tag: str = "td") -> str:
            return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

        body = []
        for (name, size, scores), best, tied in zip(self.rows, self.best, self.tied, strict=True):
            cells = [
                f"<b>{score}</b>" if b else f"{score}*" if t else score
                for score, b, t in zip(scores, best, tied, strict=True)
            ]
            body.append(row([escape(name), f"{size:,}", *cells]))
        head = row(["data set", "n", *map(escape, self.methods)], "th")
        rows = "".join([*body, row(["mean rank", "", *self.ranks])])
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table><p>{escape(self.note)}</p>"


def score_table(study: Any, metric: str = "log_loss", size: int | None = None, rope: float = 0.01) -> ScoreTable:
    """The table of a study at one size of training sets, by default the largest of each set.

    A method is tied with the best of a set if it is more probably equal to it, to within the ROPE, than worse or
    better; what tells is the estimator that the design allows, as in ``differences``.
    """
    check_rope(rope)
    scores, values = study.scores(metric, size), values_of(study, metric)
    ascending = not STUDY_METRICS[metric].higher_is_better
    order = scores.rank(axis=1, ascending=ascending, method="min").to_numpy()
    best, tied = order == 1, np.zeros(scores.shape, bool)
    sizes = [study.sizes(name)[-1] if size is None else size for name in scores.index]
    estimators = list[str]()
    for i, (name, own) in enumerate(zip(scores.index, sizes, strict=True)):
        first = scores.columns[int(np.argmax(best[i]))]
        for j in np.flatnonzero(order[i] > 1):
            found, _ = difference_of(study, name, own, scores.columns[j], first, metric, values)
            tied[i, j] = found.regions(rope).within > 0.5
            estimators.append(found.estimator)
    ranks = scores.rank(axis=1, ascending=ascending, na_option="bottom").mean()
    how = ", ".join(dict.fromkeys(estimators)) or "no other"
    note = (
        f"Mean {STUDY_METRICS[metric].heading} of {_numbers(study, scores.index)} splits; n training rows. Bold: the "
        f"best; *: more probably within {rope:g} of the best than not ({how})."
    )
    rows = [
        (str(name), own, ["failed" if np.isnan(score) else f"{score:.3f}" for score in scores.loc[name]])
        for name, own in zip(scores.index, sizes, strict=True)
    ]
    return ScoreTable([*map(str, scores.columns)], rows, best, tied, [f"{rank:.2f}" for rank in ranks], note)


def _numbers(study: Any, names: Sequence[str]) -> str:
    numbers = sorted({len(study.splits(name)) for name in names})
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
