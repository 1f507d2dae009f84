"""The commands `bayesnb fit`, `predict` and `explain`, for models in files."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.cli._options import (
    FILE,
    Number,
    Whole,
    override_option,
    reading_options,
    report_errors,
    seed_option,
    target_option,
)

if TYPE_CHECKING:
    from bayesnb.tables.files._description import Description
    from bayesnb.tables.sklearn._held import Held

FIT_METHODS = ("default", "posterior", "map", "mle", "nuts", "empirical", "averaged")


@click.command()
@click.argument("data")
@target_option
@click.option(
    "--save", "path", type=FILE, metavar="MODEL", help="The file to write the model to.  [default: the data's name.bnb]"
)
@click.option(
    "--method", metavar=f"[{'|'.join(FIT_METHODS)}]", default="default", show_default=True,
    help="The default with learned powers and dependence, the exact posterior, MAP, MLE, NUTS, the posterior under a "
    "learned prior, which may predict worse, or the average over all subsets of columns.",
)  # fmt: skip
@click.option(
    "--smoothing", type=Number(min=0), default=1.0, show_default=True,
    help="Pseudo-count of each category, and number of pseudo-rows for numbers.",
)  # fmt: skip
@click.option(
    "--missing", type=click.Choice(["auto", "none", "informative"]), default="auto", show_default=True,
    help="Flags of missing cells, 'age is missing': where left-out predictions gain, nowhere, or for every column that "
    "lacks some.",
)  # fmt: skip
@click.option("--no-temper", is_flag=True, help="Numbers are Normal, and no powers are learned: the exact posterior.")
@override_option(
    "bernoulli", "categorical", "ordered", "normal", "histogram", "poisson", "multinomial", "words",
    "character n-grams", others=", or by a distribution such as gamma, weibull, beta or student",
)  # fmt: skip
@seed_option
@reading_options
@report_errors
def fit(
    data: str,
    target: str | None,
    path: Path | None,
    method: str,
    smoothing: float,
    missing: str,
    no_temper: bool,
    overrides: tuple[tuple[str, Any], ...],
    seed: int,
    reading: Any,
) -> None:
    """Fit a model to DATA and save it, with the names of columns, categories and classes.

    DATA is a CSV file with a header line, a Parquet file, or one of iris, wine, breast_cancer, digits. It is read in
    blocks of rows and may be larger than memory. Likelihoods are chosen as in `bayesnb compare`. By default every
    column has a learned power, numbers are seen by three views unless they are chosen to be normal, and the prediction
    is averaged with those of models of dependence.

    \b
    Examples:
      bayesnb fit penguins.csv --target species
      bayesnb fit clicks.parquet --target bought --as 'page_*=poisson' --save clicks.model
      bayesnb fit mails.csv --as message=words --save mails.model
      bayesnb fit wine --method averaged --save wine.model
    """
    from bayesnb.tables.files.sources._places import BUILT_IN, require_column, require_data
    from bayesnb.tables.frames._allowed import require_likelihood, require_method
    from bayesnb.tables.frames._values import READING

    require_data(data)
    require_method(method, smoothing)
    for kind in (kind for _, kind in overrides if isinstance(kind, str)):
        require_likelihood(kind)
    declared = READING.declare(reading)
    if target is not None:
        require_column(data, target, declared.sep)
    path = path or Path(f"{Path(data).resolve().name.partition('.')[0] or 'model'}.bnb")
    _require_writable(path, data)
    from bayesnb.compute.arrays._user_warnings import warn
    from bayesnb.core.storage._results import save
    from bayesnb.tables.files._description import describe
    from bayesnb.tables.files._fit_table import fit_described
    from bayesnb.tables.files._progress import progress
    from bayesnb.tables.files.sources._paths import open_data

    flags = None if missing == "none" else missing
    with progress(f"describing '{data}'", 1.0, wanted=True) as advance:
        description = describe(open_data(data, declared), target, dict(overrides), advance, missing=flags)
    if target is None and data not in BUILT_IN:
        click.echo(f"No --target is given, so the last column, '{description.target.name}', is the target")
    _print_description(description)
    for warning in description.warnings:
        warn(warning)
    params: dict[str, Any] = {"method": method, "smoothing": smoothing, "missing": flags, "random_state": seed}
    params["temper"] = False if no_temper else None
    classifier = fit_described(description, **params)
    save(classifier, path)
    if learned := classifier.learned_.summary:
        click.echo(f"The model: {learned}")
    click.echo(f"Fitted to {description.num_rows:,} rows; saved as {path}")


@click.command()
@click.argument("model")
@click.argument("data")
@click.option(
    "--out", type=FILE, metavar="FILE", help="A .csv or .parquet file to write.  [default: CSV on the standard output]"
)
@click.option(
    "--class-prior", metavar="CLASS=P,...",
    help="The class probabilities of the rows' population, such as ham=.9,spam=.1, or uniform.  [default: those of the "
    "fit]",
)  # fmt: skip
@click.option(
    "--costs", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="A CSV file of what decisions cost: a line for each true class, a column for each decision.  [default: 1 for "
    "every error]",
)  # fmt: skip
@click.option("--keep", metavar="COLUMN", multiple=True, help="A column of DATA to copy, such as id; may be repeated.")
@click.option(
    "--robustness", is_flag=True,
    help="Add a column s_star: how many more rows, whatever they contain, it takes to change the prediction. For "
    "tables of categories; of a default fit it is that of the part without dependence.",
)  # fmt: skip
@reading_options
@report_errors
def predict(
    model: str,
    data: str,
    out: Path | None,
    class_prior: str | None,
    costs: Path | None,
    keep: tuple[str, ...],
    robustness: bool,
    reading: Any,
) -> None:
    """Predict the class of every row of DATA with MODEL, a file that `bayesnb fit` wrote.

    DATA needs the columns that the model was fitted to, in any order, and may have others. For each row, the output
    has the most probable class, or with --costs the one of least expected cost, and the probability of every class.

    \b
    A file of costs, by which to miss spam costs 1, and to hide ham 20:
      class,ham,spam
      ham,0,20
      spam,1,0

    \b
    Examples:
      bayesnb predict penguins.model new.csv --out predictions.csv
      bayesnb predict mails.model new.csv --costs costs.csv
      bayesnb predict mails.model new.csv --class-prior ham=.9,spam=.1
      bayesnb predict clicks.model today.parquet --keep id --out scores.parquet
      bayesnb predict patients.model new.csv --robustness
    """
    from bayesnb.tables.files.sources._places import require_data, require_path, require_table_name

    require_path(model)
    require_data(data)
    if out is not None:
        _require_writable(out, data, model)
        require_table_name(out)
    population = None if class_prior is None else _class_prior(class_prior)
    from bayesnb.tables.files._predictions import predict_table
    from bayesnb.tables.frames._series import label

    classifier: Any = _load(model)
    labels = {label(value): value for value in classifier.classes_.tolist()}
    table = None if costs is None else _costs(costs, labels)
    if isinstance(population, dict):
        population = {labels.get(name, name): number for name, number in population.items()}
    if population is not None:
        classifier = classifier.with_class_prior(population)
    how: Any = {"keep": keep, "costs": table, "to": out or sys.stdout, "robustness": robustness, **reading}
    rows = predict_table(classifier, data, **how)
    click.echo(f"{rows:,} rows predicted" + (f" and written to {out}" if out else ""), err=True)


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--row", type=Whole(min=1), required=True, metavar="N", help="The number of the row, from 1.")
@click.option("--against", metavar="CLASS", help="The class to compare with.  [default: the runner-up]")
@seed_option
@report_errors
def explain(model: str, data: str, row: int, against: str | None, seed: int) -> None:
    """Explain MODEL's prediction for one row of DATA.

    The output lists what the class prior and every column add to the log odds of the most probable class against
    another, in nats. The parts add up to the log odds; intervals show the uncertainty of the parameters.

    \b
    Examples:
      bayesnb explain penguins.model new.csv --row 17
      bayesnb explain penguins.model new.csv --row 17 --against Gentoo
    """
    from bayesnb.tables.files.sources._places import require_data, require_path

    require_path(model)
    require_data(data)
    import jax
    import numpy as np

    from bayesnb.core.results._classifier import Posterior
    from bayesnb.inspection._explain import explain
    from bayesnb.learned.forests._stacked import StackedPosterior
    from bayesnb.tables.files._predictions import row_of
    from bayesnb.tables.frames._classes import number_of_class
    from bayesnb.tables.frames._series import DataError, label
    from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier
    from bayesnb.tables.sklearn._held import hold

    classifier = hold(NaiveBayesClassifier(), vars(_load(model)))
    cells = row_of(classifier, data, row)
    proba = classifier.predict_proba(cells)[0]
    best, *others = np.argsort(-proba, kind="stable").tolist()
    other = others[0] if against is None else number_of_class(against, classifier.classes_)
    if other == best:
        raise DataError(f"'{against}' is the most probable class of this row: give another class for --against")
    has_draws = isinstance(classifier.fit_, Posterior) and not isinstance(classifier.fit_, StackedPosterior)
    key = jax.random.key(seed) if has_draws else None
    explanation = explain(classifier, cells, against=other, key=key)
    first, second = (f"{label(classifier.classes_[k])} with {proba[k]:.4g}" for k in (best, other))
    intervals = "" if key is None else ", with 90 % intervals"
    click.echo(f"Probabilities: {first}, against {second}. Contributions in nats{intervals}:")
    click.echo(explanation.table(0, limits.MOST_SHOWN, of=best).partition("\n")[2])


def _class_prior(given: str) -> Any:
    """The class prior by the labels' names, from `ham=.9,spam=.1`; these may contain commas and equals signs."""
    from bayesnb.tables.frames._values import DataError

    pairs = re.findall(r"(.+?)=(-?\d*\.?\d+(?:[eE]-?\d+)?)(?:,|$)", given)
    found = {name: float(number) for name, number in pairs}
    if given != "uniform" and (not found or ",".join(map("=".join, pairs)) != given or len(found) < len(pairs)):
        raise DataError(f"--class-prior must be uniform, or such as ham=.9,spam=.1 with each class once, got '{given}'")
    return found or given


def _costs(path: Path, labels: dict[str, Any]) -> Any:
    """The costs by label, from a CSV file with a line for each true class and a column for each decision."""
    import pandas as pd

    from bayesnb.tables.frames._series import DataError

    try:
        table = pd.read_csv(path, index_col=0, dtype=str, keep_default_na=False).apply(pd.to_numeric)
        found = table.rename(index=labels, columns=labels).to_dict("index")
    except ValueError as error:
        raise DataError(
            f"'{path}' has no costs ({error}): give a CSV file with a column for each decision and a line for each "
            "true class, such as class,ham,spam"
        ) from error
    return found


def _load(path: str) -> Held:
    from bayesnb.core.storage._results import read_result
    from bayesnb.tables.frames._series import DataError
    from bayesnb.tables.sklearn._held import Held

    model: Any = read_result(path)
    if not isinstance(model, Held):
        raise DataError(f"'{path}' holds a {type(model).__name__}, expected a model that 'bayesnb fit' wrote")
    return model


def _require_writable(path: Path, *given: str) -> None:
    """Raise DataError if the path is also one of ``given``, is not a regular file, or is not writable."""
    from bayesnb.core.storage._whole_file import require_file
    from bayesnb.tables.frames._values import DataError

    if any(_same(path, Path(one)) for one in given):
        raise DataError(f"'{path}' is already used by this command and would be overwritten: give another name")
    try:
        require_file(path)
    except OSError as error:
        raise DataError(f"'{path}' cannot be written: {error.strerror or error}: give another path") from error
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise DataError(f"'{path}' cannot be written: there is no folder '{folder}': make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"'{path}' cannot be written: there is no permission to write to '{folder}': give another path")


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _print_description(description: Description) -> None:
    from bayesnb.tables.frames._inferred import Choice, table_of
    from bayesnb.tables.frames._series import label, listing

    classes = listing([label(value) for value in description.classes])
    click.echo(
        f"{description.source.data}: {description.num_rows:,} rows; classes of '{description.target.name}': {classes}"
    )
    if description.num_unlabelled:
        click.echo(f"Rows left out because '{description.target.name}' is missing: {description.num_unlabelled:,}")
    used, columns = description.schema.used, description.schema.columns
    shown = [*used[: limits.MOST_SHOWN], *(column for column in columns if column not in used)]
    click.echo(table_of([*map(Choice.of, shown)]))
    if len(used) > limits.MOST_SHOWN:
        click.echo(f"and {len(used) - limits.MOST_SHOWN} more columns")
