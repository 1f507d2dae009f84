"""The summary of a comparison, as plain data and sentences: what the console, the page and `summary.json` show."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from bayesnb import __version__
from bayesnb.compute.arrays import _limits as limits
from bayesnb.inspection._dependence import Dependence
from bayesnb.inspection._num_parameters import num_parameters
from bayesnb.studies.comparison._data_sets import DataSet
from bayesnb.studies.comparison._designs import default_repeats, num_test_rows
from bayesnb.studies.comparison._first_split import Evidence, NutsCheck
from bayesnb.studies.comparison._methods import COMPARED, PRIOR_MEANINGS, REFERENCE, RIVALS
from bayesnb.studies.comparison._metrics import FLOOR_NATS, METRICS
from bayesnb.studies.report._comparison import INTERRUPTED, OUT_OF_MEMORY, Comparison
from bayesnb.tables.frames._columns import Column

PACKAGES = ("jax", "numpyro", "numpy", "scikit-learn")

ARGUMENTS = {
    "MLE": "method='mle'",
    "MAP": "method='map'",
    REFERENCE: "method='posterior'",
    "default": "",
    "learned prior": "method='empirical'",
    "averaged": "method='averaged'",
    "tempered": "temper=True",
    "feature weights": "temper='per_feature'",
}
"""The arguments by which ``NaiveBayesClassifier`` is the method of that name."""


Summary = Mapping[str, Any]
"""All results as plain values."""


class Findings(NamedTuple):
    """All results: the metrics, and what the first split shows."""

    result: Comparison
    evidence: Evidence
    pairs: Dependence | None
    check: NutsCheck | None
    no_check: str | None = None
    """Why there is no check with NUTS, unless by --no-nuts."""
    robustness: str | None = None
    """How robust decisions are, if it is asked."""


def summarise_data(data: DataSet) -> dict[str, Any]:
    """A description of the table, before anything is fitted."""
    table = data.table
    counts = np.bincount(table.y, minlength=len(table.classes)).tolist()
    count = num_parameters(data.bayes, table.X)
    joint = (
        "the full joint distribution has no finite table, as columns of numbers or counts take any value"
        if count.full_joint is None
        else f"a table of the full joint distribution would need {whole(count.full_joint)}"
    )
    return {
        "name": table.name,
        "target": table.target,
        "rows": len(table.y),
        "rows_without_target": table.num_unlabelled,
        "classes": dict(zip(table.classes, counts, strict=True)),
        "columns": [
            {"name": c.name, "kind": c.likelihood, "values": c.describe(), "missing": c.missing} for c in table.columns
        ],
        "kinds": {
            kind: _kind([column for column in table.columns if column.likelihood == kind])
            for kind in dict.fromkeys(column.likelihood for column in table.columns)
        },
        "left_out": dict(table.left_out),
        "warnings": list(table.warnings),
        "parameters": f"Naive Bayes has {plural(count.total, 'free parameter')}; {joint}.",
    }


def summarise(findings: Findings, command: str) -> dict[str, Any]:
    """Everything needed to judge and repeat the comparison, as plain values for JSON."""
    result, evidence, pairs, check, no_check, robustness = findings
    table, repeats = result.data.table, result.repeats
    every = [] if pairs is None else pairs.strongest(math.comb(len(pairs.names), 2))
    strong = sum(pair.log_bayes_factor > limits.STRONG_DEPENDENCE and pair.per_row > 0 for pair in every)
    dependent = f"Dependent pairs of columns within the classes: {strong} of {len(every):,} (dependence.png)."
    data, stopped = summarise_data(result.data), _say_where_it_stopped(result)
    if stopped is not None:
        data["warnings"].insert(0, stopped)
    return {
        "data": data,
        "splits": {
            "sizes": list(result.sizes),
            "repeats": repeats,
            "test_rows": result.num_test,
            "held_out_rows": num_test_rows(len(table.y)),
            "seed": result.data.seed,
            "stopped": result.stopped,
        },
        "priors": dict(result.priors),
        "table": [_row(result, size, method) for size in result.sizes for method in result.methods],
        "evidence": {**asdict(evidence), "columns": [column._asdict() for column in evidence.columns]},
        "strongest_pairs": [pair._asdict() for pair in every[:10] if pair.per_row],
        "nearly_unique": [] if pairs is None else [pairs.names[column] for column in pairs.nearly_unique],
        "nuts": None if check is None else {key: _finite(value) for key, value in asdict(check).items()},
        "meanings": {
            "priors": {
                name: text for name, text in PRIOR_MEANINGS.items() if name in ", ".join(result.priors.values())
            },
            "methods": {method: COMPARED[method].meaning for method in result.methods},
        },
        "sentences": {
            "finding": [_finding(result, size) for size in sorted({result.sizes[0], result.sizes[-1]}, reverse=True)],
            "next": next_step(result, pairs),
            "mean": f"mean of {repeats} splits; ± spans its 95 % interval" if repeats > 1 else "one split",
            "intervals": _intervals(result),
            "impossible": _impossible(result),
            "equal": None if "numeric" in table.blocks else EQUAL,
            "evidence": _evidence(evidence),
            "dependence": None if pairs is None else dependent,
            "overconfidence": _overconfidence(result, pairs),
            "nuts": None if check is None else _nuts(check),
            "no_nuts": no_check,
            "stopped": stopped,
            "test_rows": _test_rows(result),
            "robustness": robustness,
        },
        "versions": {
            "python": platform.python_version(),
            "bayesnb": __version__,
            **{name: metadata.version(name) for name in PACKAGES},
        },
        "command": command,
    }


EQUAL = (
    "All columns are Bernoulli or Categorical, so MAP with Laplace 1 and full Bayes make the same predictions: the "
    "exact predictive under Dirichlet(1) is the Laplace-1 estimate."
)


def _say_where_it_stopped(result: Comparison) -> str | None:
    if result.stopped is None:
        return None
    after = f"The comparison was stopped after {plural(result.repeats, 'split')} ({result.stopped})"
    if result.stopped in (INTERRUPTED, OUT_OF_MEMORY):
        return f"{after}; others are missing: the same command goes on."
    return f"{after}; others are missing, and the same command ends there again: leave out what fails, by --methods."


def _test_rows(result: Comparison) -> str | None:
    """A sentence if not all held-out rows are scored."""
    held_out = num_test_rows(len(result.data.table.y))
    if result.num_test == held_out:
        return None
    return f"Of {held_out:,} held-out rows, {result.num_test:,} are scored in each split (--test-rows)."


def _intervals(result: Comparison) -> str | None:
    """Which estimator the intervals of each size are of, and on how many splits they rest where the table is large."""
    if result.repeats < 2:
        return None
    by_name: dict[str, list[str]] = {}
    for size in result.sizes:
        by_name.setdefault(result.estimator(size), []).append(f"{size:,}")
    found = "; ".join(f"{name} at n = {', '.join(sizes)}" for name, sizes in by_name.items())
    none = " The ECE has none where they are crossed, as it is no mean over test rows." if "crossed" in by_name else ""
    rows, basis = len(result.data.table.y), ""
    if result.repeats == default_repeats(rows) < limits.MOST_SPLITS:
        few = f"{result.repeats} splits, not {limits.MOST_SPLITS}"
        basis = f" They rest on {few}, as the table has {rows:,} rows: --repeats {limits.MOST_SPLITS} runs all."
    return f"Intervals: {found}.{none}{basis}"


def _kind(columns: Sequence[Column]) -> dict[str, Any]:
    values, sizes = "two values", [len(column.values) for column in columns]
    ends = [end for column in columns for end in column.span or ()]
    if ends and not all(sizes):
        values = f"{min(ends):g} to {max(ends):g}"
    elif columns[0].kind != "bernoulli":
        values = f"{min(sizes)} to {max(sizes)} categories"
    return {"columns": len(columns), "values": values, "missing": sum(column.missing for column in columns)}


def _row(result: Comparison, size: int, method: str) -> dict[str, Any]:
    row: dict[str, Any] = {"size": size, "method": method, "prior": result.priors[method]}
    row["estimator"] = result.estimator(size)
    for metric in METRICS:
        mean, half = result.mean(size, method, metric)
        best = result.best(size, metric)
        row[metric] = {"mean": mean, "half_interval": _finite(half)}
        for name, other in (("full_bayes", REFERENCE), ("best", best)):
            difference, paired = result.difference(size, method, metric, other)
            row[metric] |= {
                f"minus_{name}": difference,
                f"minus_{name}_half_interval": _finite(paired),
                f"than_{name}": result.verdict(size, method, metric, other),
            }
        row[metric]["best"] = best
    row["impossible_share"] = float(result.values(size, method, "impossible").mean())
    row["fit_ms"] = result.median(size, method, "fit_ms")
    row["predict_ms"] = result.median(size, method, "predict_ms")
    return row


def _finding(result: Comparison, size: int) -> dict[str, str]:
    """Which method has the lowest log loss, and which others are not clearly worse; of equal methods full Bayes."""
    best = result.best(size)
    others = [method for method in result.methods if method != best]
    near = [method for method in others if result.verdict(size, method, "log_loss", best) != "worse"]
    claim = "the default estimator" if best == "default" else best
    if others and not near:
        claim += " predicts best"
    elif REFERENCE not in (best, *near):
        claim += f" predicts clearly better than {REFERENCE}"
    else:
        claim += " has the lowest log loss"
        claim += "" if best == REFERENCE else f", but its lead over {REFERENCE} may be chance"
    loss, accuracy, *of_reference = (
        with_error(*result.mean(size, method, metric))
        for method in dict.fromkeys((best, REFERENCE))
        for metric in ("log_loss", "accuracy")
    )
    scores = f"Its log loss is {loss} and its accuracy {accuracy}"
    scores += f"; {REFERENCE} has {' and '.join(of_reference)}" if of_reference else ""
    if near and result.repeats > 1:
        named = "every other method" if near == others else ", ".join(near)
        scores += f". Not clearly worse than it: {named}"
    return {"claim": f"With {plural(size, 'training row')}, {claim}.", "scores": f"{scores}."}


def _impossible(result: Comparison) -> str:
    """A sentence on the methods that gave true classes a probability below the floor, and how often at most."""
    parts = []
    for method in result.methods:
        shares = {size: float(result.values(size, method, "impossible").mean()) for size in result.sizes}
        size, share = max(shares.items(), key=lambda item: item[1])
        if share > 0:
            parts.append(f"{method} {100 * share:.2g} % at n = {size:,}")
    floor = f"a probability below e^-{FLOOR_NATS}"
    if not parts:
        return f"No method gave the true class of a test row {floor}."
    nats = f"(zero included; each counts as {FLOOR_NATS} nats in the log loss)"
    return f"The largest share of test rows whose true class got {floor} {nats}: {'; '.join(parts)}."


def _evidence(evidence: Evidence) -> str:
    gain = evidence.learned_prior - evidence.full_bayes
    return (
        f"The log evidence, log p(X, y), of the first split's {evidence.size:,} training rows is "
        f"{tenths(evidence.full_bayes)} under the prior of full Bayes and {tenths(evidence.learned_prior)} under the "
        f"learned prior ({tenths(gain, '+')}). It says how well a prior describes the rows, not how well it predicts "
        "the class."
    )


def _overconfidence(result: Comparison, pairs: Dependence | None) -> str | None:
    """A warning if full Bayes is over-confident, with a reason if columns depend on each other, and what helps."""
    size = result.sizes[-1]
    accuracy, half = result.mean(size, REFERENCE, "accuracy")
    gap = result.confidence(size, REFERENCE) - accuracy
    if not (gap > limits.LEAST_OVERCONFIDENCE and gap > half):
        return None
    warning = (
        f"Full Bayes is over-confident: at n = {size:,} its largest probability is on average "
        f"{number(gap)} higher than its accuracy of {with_error(accuracy, half)} (reliability.png)."
    )
    if pairs is not None:
        strongest = pairs.strongest(1)[0]
        warning += (
            " Columns depend on each other within the classes, most surely "
            f"'{strongest.first}' and '{strongest.second}' (dependence.png)."
            if strongest.log_bayes_factor > limits.STRONG_DEPENDENCE and strongest.per_row > 0
            else " No two columns surely depend on each other within the classes (dependence.png)."
        )
    cures = [_cure(result, size, method) for method in result.cures(size)]
    if not cures:
        return warning
    before = result.mean(size, REFERENCE, "ece")[0]
    return f"{warning} The calibration error of {number(before)} falls to {'; and to '.join(cures)}."


def _cure(result: Comparison, size: int, method: str) -> str:
    """A method's calibration error, and what it changes besides: differences from full Bayes on the same splits."""
    changes = ", ".join(
        f"{METRICS[metric].heading} {with_error(*result.difference(size, method, metric), sign='+')}"
        for metric in ("accuracy", "brier")
    )
    return f"{number(result.mean(size, method, 'ece')[0])} with '{method}' ({changes})"


def _nuts(check: NutsCheck) -> str:
    rows, divergences = plural(check.num_rows, "test row"), plural(check.num_divergences, "divergence")
    return (
        f"At n = {check.size:,}, {check.num_chains} chains drew {check.num_draws:,} samples in {check.seconds:.1f} s: "
        f"largest R-hat {check.max_r_hat:.4g}, smallest effective sample size {check.min_ess:,.0f}, {divergences}. "
        f"The class probabilities of {rows} differ from the exact ones by {check.mean_difference:.2g} on average and "
        f"by at most {check.max_difference:.2g}."
    )


def next_step(result: Comparison, pairs: Dependence | None) -> str:
    """What to try: the best method at the largest size, columns that depend on each other, and rivals."""
    best, steps = result.best(result.sizes[-1]), []
    surest = [] if pairs is None else pairs.strongest(1)
    if best in ARGUMENTS:
        steps.append(f"'{best}' in your own code, bayesnb.NaiveBayesClassifier({ARGUMENTS[best]})")
    depends = any(pair.log_bayes_factor > limits.STRONG_DEPENDENCE and pair.per_row > 0 for pair in surest)
    if depends and "default" not in result.methods:
        steps.append("'default', bayesnb.NaiveBayesClassifier(), with models in which columns depend on each other")
    if not {*RIVALS} & {*result.methods}:
        steps.append("--rivals, for a logistic regression and a random forest on the same splits")
    if not steps:
        steps.append("more rows or columns, or --nuts to check the posterior")
    return f"To try next: {'; '.join(steps)}."


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float, sign: str = "", digits: int | None = None) -> str:
    """A number in about five characters: .312, 1.23, 12.3, 178, 574k, 2M; signed if `sign` is `+`."""
    size = abs(value)
    if size >= 1e12:
        return f"{value:{sign}.0e}"
    for smallest, unit, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if size >= smallest:
            return f"{value / unit:{sign}.0f}{suffix}"
    text = f"{value:{sign}z.{_digits(size) if digits is None else digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def with_error(mean: float, error: float | None, sign: str = "") -> str:
    """A mean and half of its interval to the decimal places of the larger; the mean alone without an interval."""
    if error is None or not math.isfinite(error):
        return number(mean, sign)
    digits = _digits(max(abs(mean), error))
    return f"{number(mean, sign, digits)} ±{number(error, digits=digits)}"


def _digits(size: float) -> int:
    return 3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0


def tenths(value: float, sign: str = "") -> str:
    """A log evidence, a log Bayes factor or milliseconds: -1,234.6; signed if `sign` is `+`."""
    return f"{value:{sign}z,.1f}"


def whole(value: int) -> str:
    """A whole number of any size: exact below a million, otherwise as 2.1e+30."""
    return f"{value:,}" if value < 1_000_000 else f"{Decimal(value):.1e}"


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 row, 2,000 rows."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def capitalise(kind: str) -> str:
    """A likelihood with a capital: Bernoulli, MultivariateNormal."""
    return kind[:1].upper() + kind[1:]
