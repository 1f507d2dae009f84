"""Print the explanation of one row's prediction as a table."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.markup import escape

from bayesnb.frames.classes import number_of_class
from bayesnb.frames.series import DataError, label
from bayesnb.inspection.explain import explain
from bayesnb.report.console import add_row, grid_of
from bayesnb.results.classifier import Posterior
from bayesnb.sklearn.estimator import NaiveBayesClassifier

MOST_ROWS = 20


def print_explanation(classifier: NaiveBayesClassifier, row: Any, against: str | None, seed: int) -> None:
    """Print the contributions of the class prior and of each column to the log odds of the top class over another.

    The frame ``row`` has one row. The other class is ``against``, by default the second most probable one.

    Raises:
        DataError: if there is no such class, or the model's predictions are not sums over columns.
    """
    cells = row[classifier.schema_.names]
    proba = classifier.predict_proba(cells)[0]
    order = np.argsort(-proba, kind="stable")
    best = int(order[0])
    other = int(order[1]) if against is None else number_of_class(against, classifier.classes_)
    if other == best:
        raise DataError(f"'{against}' is the most probable class of this row: give another class for --against")
    key = jax.random.key(seed) if isinstance(classifier.fit_, Posterior) else None
    try:
        explanation = explain(classifier, cells, against=other, key=key)
    except ValueError as error:
        raise DataError(str(error)) from error
    first, second = (label(classifier.classes_[k]) for k in (best, other))
    console = Console(highlight=False)
    console.print(
        f"[bold]{escape(first)}[/] with probability {proba[best]:.4g}, against {escape(second)} with {proba[other]:.4g}"
    )
    table = grid_of(["column", "value"], ["nats", "90 % interval"])
    model = classifier.fit_.model
    one_part = model.single and model.families["x"].one_feature and not model.families["x"].has_word_terms
    for part in explanation.parts(0, MOST_ROWS, of=best):
        value = ""
        if part.name in cells and not one_part:
            cell = cells[part.name].iloc[0]
            value = "missing" if cell is None or cell != cell else label(cell)
        # the contribution of the row length does not depend on the parameters, so its interval is empty
        interval = "" if np.isnan(part.low) or part.low == part.high else f"{part.low:+.2f} to {part.high:+.2f}"
        add_row(table, part.name, value, f"{part.log_odds:+.3f}", interval)
    table.add_section()
    add_row(table, f"log odds of {first}", "", f"{explanation.log_odds[0, best]:+.3f}", "")
    console.print(table)
