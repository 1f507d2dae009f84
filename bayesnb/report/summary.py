"""The summary of a comparison, as plain data and sentences: what the console, the page and `summary.json` show."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from bayesnb.comparison.compare import Comparison
from bayesnb.comparison.experiment import Experiment
from bayesnb.comparison.first_split import Evidence, NutsCheck
from bayesnb.comparison.methods import COMPARED, CURES, PRIOR_MEANINGS, REFERENCE
from bayesnb.comparison.metrics import LOG_SMALLEST, METRICS
from bayesnb.comparison.splits import num_test_rows
from bayesnb.frames.column_kinds import Column
from bayesnb.inspection.dependence import STRONG, Dependence
from bayesnb.inspection.num_parameters import num_parameters
from bayesnb.report.formats import bayes_factor, number, plural, whole

LEAST_OVERCONFIDENCE = 0.01
PACKAGES = ("bayesnb", "jax", "numpyro", "numpy", "scikit-learn")


class Findings(NamedTuple):
    """All results of an experiment: the scores, and what the first split shows."""

    experiment: Experiment
    result: Comparison
    evidence: Evidence
    pairs: Dependence | None
    check: NutsCheck | None


def summarise_data(experiment: Experiment) -> dict[str, Any]:
    """A description of the table, before anything is fitted."""
    table = experiment.table
    counts = np.bincount(table.y, minlength=len(table.classes)).tolist()
    count = num_parameters(experiment.bayes, table.X)
    joint = (
        "the full joint distribution has no finite table, because Normal columns take any value"
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
            {"name": c.name, "kind": c.kind, "values": c.describe(), "missing": c.missing} for c in table.columns
        ],
        "kinds": {columns[0].kind: _kind(columns) for columns in table.blocks.values()},
        "left_out": dict(table.left_out),
        "warnings": list(table.warnings),
        "parameters": f"Naive Bayes has {plural(count.total, 'free parameter')}; {joint}.",
    }


def summarise(findings: Findings, command: str) -> dict[str, Any]:
    """Everything needed to judge and repeat the comparison, as plain values for JSON."""
    experiment, result, evidence, pairs, check = findings
    repeats = experiment.repeats
    return {
        "data": summarise_data(experiment),
        "splits": {
            "sizes": list(result.sizes),
            "repeats": repeats,
            "test_rows": num_test_rows(len(experiment.table.y)),
            "seed": experiment.seed,
        },
        "priors": dict(result.priors),
        "table": [_row(result, size, method) for size in result.sizes for method in result.methods],
        "evidence": {**asdict(evidence), "columns": [column._asdict() for column in evidence.columns]},
        "strongest_pairs": [] if pairs is None else [pair._asdict() for pair in pairs.strongest(10)],
        "nuts": None if check is None else {key: _finite(value) for key, value in asdict(check).items()},
        "meanings": {
            "priors": {
                name: text for name, text in PRIOR_MEANINGS.items() if name in ", ".join(result.priors.values())
            },
            "methods": {method: COMPARED[method].meaning for method in result.methods},
        },
        "sentences": {
            "mean": f"mean ± standard error of {repeats} splits" if repeats > 1 else "one split",
            "impossible": _impossible(result),
            "equal": None if "numeric" in experiment.table.blocks else EQUAL,
            "evidence": _evidence(evidence),
            "dependence": None if pairs is None else _dependence(pairs),
            "overconfidence": None if pairs is None else _overconfidence(result, pairs),
            "nuts": None if check is None else _nuts(check),
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "command": command,
    }


EQUAL = (
    "All columns are Bernoulli or Categorical, so MAP with Laplace 1 and full Bayes make the same predictions: the "
    "exact predictive under Dirichlet(1) is the Laplace-1 estimate."
)


def _kind(columns: Sequence[Column]) -> dict[str, Any]:
    values = "two values"
    if columns[0].kind == "normal":
        ends = [end for column in columns for end in column.span or ()]
        values = f"{min(ends):g} to {max(ends):g}"
    elif columns[0].kind == "categorical":
        sizes = [len(column.values) for column in columns]
        values = f"{min(sizes)} to {max(sizes)} categories"
    return {"columns": len(columns), "values": values, "missing": sum(column.missing for column in columns)}


def _row(result: Comparison, size: int, method: str) -> dict[str, Any]:
    row: dict[str, Any] = {"size": size, "method": method, "prior": result.priors[method]}
    for metric in METRICS:
        mean, error = result.mean(size, method, metric)
        difference, paired = result.difference(size, method, metric)
        row[metric] = {
            "mean": mean,
            "standard_error": _finite(error),
            "minus_full_bayes": difference,
            "minus_full_bayes_standard_error": _finite(paired),
        }
    row["impossible_share"] = result.mean(size, method, "impossible")[0]
    row["fit_ms"] = result.median(size, method, "fit_ms")
    row["predict_ms"] = result.median(size, method, "predict_ms")
    return row


def _impossible(result: Comparison) -> str:
    """A sentence on the methods that gave true classes probability zero, and how often."""
    parts = []
    for method in result.methods:
        shares = {size: result.mean(size, method, "impossible")[0] for size in result.sizes}
        some = [f"{100 * share:.2g} % at n = {size}" for size, share in shares.items() if share > 0]
        if some:
            parts.append(f"{method} {', '.join(some)}")
    if not parts:
        return "No method gave the true class of a test row probability zero."
    nats = f"(each counts as {-LOG_SMALLEST:.1f} nats in the log loss)"
    return f"Test rows whose true class got probability zero {nats}: {'; '.join(parts)}."


def _evidence(evidence: Evidence) -> str:
    gain = evidence.learned_prior - evidence.full_bayes
    return (
        f"The log evidence, log p(X, y), of the first split's {evidence.size:,} training rows is "
        f"{evidence.full_bayes:,.1f} under the prior of full Bayes and {evidence.learned_prior:,.1f} under the learned "
        f"prior ({gain:+,.1f})."
    )


def _dependence(pairs: Dependence) -> str:
    every = pairs.strongest(math.comb(len(pairs.names), 2))
    strong = sum(pair.log_bayes_factor > STRONG for pair in every)
    return f"Dependent pairs of columns within the classes: {strong} of {len(every):,} (dependence.png)."


def _overconfidence(result: Comparison, pairs: Dependence) -> str | None:
    """A warning if full Bayes is over-confident and columns depend on each other, with the methods that help."""
    size = result.sizes[-1]
    gap, error = result.overconfidence(size, REFERENCE)
    strongest = pairs.strongest(1)[0]
    if strongest.log_bayes_factor <= STRONG or not (gap > LEAST_OVERCONFIDENCE and gap > 2 * error):
        return None
    warning = (
        f"Do not trust the probabilities of full Bayes: at n = {size:,} its largest probability is on average "
        f"{number(gap)} ±{number(error)} higher than its accuracy (reliability.png). The naive assumption fails: "
        f"within the classes '{strongest.first}' and '{strongest.second}', the strongest of "
        f"{plural(math.comb(len(pairs.names), 2), 'pair')}, share {number(strongest.mutual_information)} nats, with a "
        f"Bayes factor of {bayes_factor(strongest.log_bayes_factor)} for dependence (dependence.png)."
    )
    errors = {method: result.mean(size, method, "ece")[0] for method in result.methods}
    better = [
        f"{number(errors[method])} with '{method}'" for method in CURES if errors.get(method, 1.0) < errors[REFERENCE]
    ]
    if not better:
        return warning
    return f"{warning} The calibration error of {number(errors[REFERENCE])} falls to {' and '.join(better)}."


def _nuts(check: NutsCheck) -> str:
    rows, divergences = plural(check.num_rows, "test row"), plural(check.num_divergences, "divergence")
    return (
        f"At n = {check.size:,}, {check.num_chains} chains drew {check.num_draws:,} samples in {check.seconds:.1f} s: "
        f"largest R-hat {check.max_r_hat:.4g}, smallest effective sample size {check.min_ess:,.0f}, {divergences}. "
        f"The class probabilities of {rows} differ from the exact ones by {check.mean_difference:.2g} on average and "
        f"by at most {check.max_difference:.2g}."
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # not installed
        return None
