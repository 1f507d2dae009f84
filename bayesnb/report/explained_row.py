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
from bayesnb.report.tables import headed_grid
from bayesnb.results.classifier import Posterior
from bayesnb.sklearn.estimator import NaiveBayesClassifier

MOST_ROWS = 20


def print_explanation(classifier: NaiveBayesClassifier, row: Any, against: str | None, seed: int) -> None:
    """Print the contributions of the class prior and of each column to the log odds of the top class over another.

    Args:
        classifier: The model.
        row: A frame of one row with the columns of the fit.
        against: The class to compare with; None for the second most probable one.
        seed: The random seed of the draws for the intervals.

    Raises:
        DataError: if there is no such class, or the model's predictions are not sums over columns.
    """
    asked = row[classifier.schema_.names]
    proba = classifier.predict_proba(asked)[0]
    order = np.argsort(-proba, kind="stable")
    best = int(order[0])
    other = int(order[1]) if against is None else number_of_class(against, classifier.classes_)
    if other == best:
        raise DataError(f"'{against}' is the most probable class of this row itself: give another for --against")
    key = jax.random.key(seed) if isinstance(classifier.fit_, Posterior) else None
    try:
        told = explain(classifier, asked, against=other, key=key)
    except ValueError as error:
        raise DataError(str(error)) from error
    first, second = (label(classifier.classes_[k]) for k in (best, other))
    console = Console(highlight=False)
    console.print(
        f"[bold]{escape(first)}[/] with probability {proba[best]:.4g}, against {escape(second)} with {proba[other]:.4g}"
    )
    table = headed_grid({"column": "left", "value": "left", "nats": "right", "90 % interval": "right"})
    parts = told.parts(0, MOST_ROWS, of=best)
    own = classifier.schema_.family
    whole = own is not None and own.one_feature and not own.has_word_terms  # one part for all columns
    for part in parts:
        known = part.name in asked and not whole
        cell = asked[part.name].iloc[0] if known else None
        shown = "" if not known else "missing" if cell is None or cell != cell else label(cell)
        # the contribution of the row length does not depend on the parameters, so its interval is empty
        interval = "" if np.isnan(part.low) or part.low == part.high else f"{part.low:+.2f} to {part.high:+.2f}"
        table.add_row(escape(part.name), escape(shown), f"{part.log_odds:+.3f}", interval)
    table.add_section()
    table.add_row(f"log odds of {escape(first)}", "", f"{told.log_odds[0, best]:+.3f}", "")
    console.print(table)
