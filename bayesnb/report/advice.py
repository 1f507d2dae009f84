"""What to try after a comparison, in one sentence."""

from __future__ import annotations

from bayesnb.comparison.compare import Comparison
from bayesnb.comparison.methods import REFERENCE, RIVALS
from bayesnb.inspection.dependence import STRONG, Dependence

ARGUMENTS = {
    "MLE": "method='mle'",
    "MAP": "method='map'",
    REFERENCE: "",
    "learned prior": "method='empirical'",
    "averaged": "method='averaged'",
    "tempered": "temper=True",
    "feature weights": "temper='per_feature'",
}
"""The arguments by which ``NaiveBayesClassifier`` is the method of that name."""


def rank(method: str, loss: float) -> tuple[float, bool]:
    """The key that sorts methods by their mean log loss, best first; of equal methods full Bayes."""
    return round(loss, 6), method != REFERENCE


def best_of(result: Comparison, size: int) -> str:
    """The method of the lowest mean log loss."""
    return min(result.methods, key=lambda method: rank(method, result.mean(size, method, "log_loss")[0]))


def next_step(result: Comparison, pairs: Dependence | None, *, own_program: bool) -> str:
    """What to try: the best method at the largest size, columns that depend on each other, and rivals."""
    best, steps = best_of(result, result.sizes[-1]), []
    surest = [] if pairs is None else pairs.strongest(1)
    if best in ARGUMENTS and not own_program:
        steps.append(f"bayesnb.NaiveBayesClassifier({ARGUMENTS[best]}), which is '{best}'")
    if any(pair.log_bayes_factor > STRONG and pair.per_row > 0 for pair in surest):
        steps.append("bayesnb.fit_forests, in which a column may look at another")
    if not {*RIVALS} & {*result.methods}:
        steps.append("--rivals, for a logistic regression and a random forest on the same splits")
    if not steps:
        steps.append("more rows or columns, or --nuts to check the posterior")
    return f"To try next: {'; '.join(steps)}."
