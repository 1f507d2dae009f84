"""The methods of a study, from what a user gives: names, estimators, functions, NumPyro programs."""

from __future__ import annotations

import inspect
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone

from bayesnb import __version__
from bayesnb.core.fits._closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._arguments import is_number
from bayesnb.inspection.sensitivity._decide_set import decide_set
from bayesnb.studies.comparison._data_sets import DataSet, bayes_model
from bayesnb.studies.comparison._method_fits import FIT_OF
from bayesnb.studies.comparison._methods import COMPARED, RIVALS, require_method
from bayesnb.studies.comparison._own_program import recognise_set
from bayesnb.tables.frames._series import Array, DataError, closest, listing
from bayesnb.tables.sklearn._fitted import Fitted as FittedTable
from bayesnb.tables.sklearn._flags import flag_rows

FITS: dict[str, Callable[..., Any]] = {"MLE": fit_mle, "MAP": fit_map, "full Bayes": fit_posterior}
SMOOTHED = ("MAP", "full Bayes", "averaged", "tempered", "feature weights")


@dataclass(frozen=True)
class Contestant:
    """A method of a study.

    Attributes:
        name: Its name in every table.
        identity: What its answers follow from, besides rows and labels: part of the keys of its cells.
        given: An estimator, a function, or the name of a method of ours.
        settings: Values of its parameters.
        closed: The closed form; fits to nested training sets then share their statistics.
        program: A NumPyro program, which is the model.
    """

    name: str
    identity: str
    given: Any
    settings: Mapping[str, Any] = field(default_factory=dict)
    closed: Callable[..., Any] | None = None
    program: Callable[..., Any] | None = None

    @property
    def foreign(self) -> bool:
        """Whether it is code of other authors, which may fail, hang, or draw at random."""
        return not isinstance(self.given, str) or self.given in RIVALS

    def place(self, data: DataSet) -> tuple[DataSet, NaiveBayes]:
        """The rows and the model that it takes in place of a set's own.

        Raises:
            ValueError: if a program is no Naive Bayes model of these rows, or a model's prior cannot be smoothed.
        """
        if data.model is not None and (self.program is not None or "smoothing" in self.settings):
            kept = f"set '{data.name}' has a model with its own prior, which '{self.name}' would replace"
            raise DataError(f"{kept}: leave the method out, or give the set without its model")
        if self.program is not None:
            return recognise_set(self.program, data)
        if "smoothing" in self.settings:
            model = bayes_model(data.table, laplace=self.given == "MAP", smoothing=self.settings["smoothing"])
            return replace(data, model=model), model
        return data, data.laplace if self.given == "MAP" else data.bayes

    def fit(self, data: DataSet, train: Array, seed: int, known: tuple[DataSet, NaiveBayes] | None = None) -> Fitted:
        """A fit to the rows ``train``; ``known`` is what ``place`` has returned, if it has been called."""
        if isinstance(self.given, BaseEstimator):
            return Fitted(self._fit_estimator(data, train, seed), data.given_rows, data.num_classes)
        placed, model = known or self.place(data)
        X, y = placed.rows(train)
        if isinstance(self.given, str):
            fit = FIT_OF[self.given](placed, X, y)
            if isinstance(fit, FittedTable):  # which may have flags of missing cells
                schema = fit.schema
                return Fitted(fit.fit, lambda index: flag_rows(schema, placed.rows(index)[0]), data.num_classes)
        else:
            seeded = {"seed": seed} if "seed" in inspect.signature(self.given).parameters else {}
            fit = self.given(model, X, y, **{**seeded, **self.settings})
        if not hasattr(fit, "predict_log_proba"):
            got = f"'{self.name}' returned {type(fit).__name__}, which has no predict_log_proba"
            raise TypeError(f"{got}: return a fit, or an object that gives log p of rows [N, K]")
        return Fitted(fit, lambda index: placed.rows(index)[0], data.num_classes)

    def _fit_estimator(self, data: DataSet, train: Array, seed: int) -> Any:
        estimator = clone(self.given).set_params(**self.settings)
        drawn = [
            name
            for name, value in estimator.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        ]
        estimator.set_params(**dict.fromkeys(drawn, seed))
        return estimator.fit(data.given_rows(train), data.table.y[train])


@dataclass(frozen=True)
class Fitted:
    """A fit, and ``rows``, which gives it rows by their index."""

    fit: Any
    rows: Callable[[Array], Any]
    num_classes: int

    def log_proba(self, index: Array) -> Array:
        """log p(y | x), [T, K]."""
        X = self.rows(index)
        with np.errstate(divide="ignore"):  # a probability of zero
            logs = hasattr(self.fit, "predict_log_proba")
            found = self.fit.predict_log_proba(X) if logs else np.log(self.fit.predict_proba(X))
        return self._spread(np.asarray(found, np.float64), -np.inf)

    def sets(self, index: Array, s: float) -> Array | str:
        """The classes that no other dominates, [T, K]; or why the fit has no such sets."""
        try:
            return self._spread(np.asarray(decide_set(self.fit, self.rows(index), s).sets), np.False_)
        except ValueError as error:
            return str(error)

    def _spread(self, found: Array, otherwise: Any) -> Array:
        """The columns of all classes, with another value for those that the training rows of an estimator lack."""
        classes = getattr(self.fit, "classes_", None)
        if classes is None or found.ndim != 2 or found.shape[1] != len(classes):
            return found
        table = np.full((len(found), self.num_classes), otherwise)
        table[:, np.asarray(classes, int)] = found
        return table


def methods(method: Any, *, version: str | None = None, **values: Any) -> list[Any]:
    """A method at each value of its parameters, for ``experiment``: ``nb.methods("MAP", smoothing=[0.1, 1, 10])``.

    Args:
        method: As for ``experiment``: a name, an estimator, or ``(name, function)``.
        version: Of a function: a new one says that its answers are others, so that they are computed anew.
        values: By parameter a value or a list of them; of several lists each combination. A method of ours takes
            ``smoothing``, l of Dirichlet(l), or Dirichlet(1 + l) of MAP; an estimator what ``set_params`` takes; a
            function keywords.

    Raises:
        DataError: for parameters that the method does not have.

    Example:
        >>> import bayesnb as nb
        >>> [method.name for method in nb.methods("full Bayes", smoothing=[0.5, 1])]
        ['full Bayes, smoothing=0.5', 'full Bayes, smoothing=1']
    """
    lists = [value if isinstance(value, list | tuple) else [value] for value in values.values()]
    grid = [dict(zip(values, some, strict=True)) for some in product(*lists)]
    return [_contestant(method, settings, version) for settings in grid]


def read_methods(given: Any) -> list[Contestant]:
    """The methods that a user gives.

    Raises:
        DataError: for what is no method, or has another one's name.
    """
    pair = isinstance(given, tuple) and len(given) == 2 and not isinstance(given[1], str)
    given = [given] if pair or isinstance(given, str | BaseEstimator) or callable(given) else given
    found = [_contestant(one, {}, None) for one in _flat(given)]
    names = [one.name for one in found]
    if not found:
        raise DataError(f"no method is given: name some of {', '.join(COMPARED)}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"two methods are called '{twice}': name one of them, (name, method)")
    return found


def _flat(given: Any) -> Iterator[Any]:
    for one in given:
        yield from one if isinstance(one, list) else [one]


def _contestant(given: Any, settings: Mapping[str, Any], stated: str | None) -> Contestant:
    if isinstance(given, Contestant):
        return given
    name = None
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        name, given = given
    shown = "".join(f", {key}={value!r}" for key, value in settings.items())
    if isinstance(given, str):
        return _ours(name or given, given, settings, shown)
    if isinstance(given, BaseEstimator):
        if not hasattr(given, "predict_proba") and not hasattr(given, "predict_log_proba"):
            raise DataError(
                f"{type(given).__name__} has no predict_proba, and its probabilities are scored: wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        odd = [key for key in settings if key not in given.get_params()]
        if odd:
            raise DataError(f"{type(given).__name__} has no parameter '{odd[0]}'{closest(odd[0], given.get_params())}")
        kind, known = type(given), clone(given).set_params(**settings).get_params()
        content = joblib.hash([kind.__qualname__, {key: _plain(value) for key, value in known.items()}])
        return Contestant((name or _title(given)) + shown, f"{_release(kind)} {content}", given, settings)
    if not callable(given):
        raise DataError(
            f"a method must be a name, an estimator of scikit-learn, (name, function), a NumPyro program or "
            f"nb.methods(...), got {type(given).__name__}"
        )
    own = getattr(given, "__name__", type(given).__name__)
    if name is None:
        if own == "<lambda>":
            raise DataError("a function without a name is given as a method: give (name, function)")
        source = joblib.hash(_source(given)) if hasattr(given, "__code__") else ""
        return Contestant(
            own, f"program {own} {source} {__version__}", "full Bayes", closed=fit_posterior, program=given
        )
    return Contestant(name + shown, f"function {name}{shown} {stated}", given, settings)


def _source(function: Callable[..., Any]) -> str | bytes:
    try:
        if function.__code__.co_filename != "<string>":  # where Python 3.13 keeps the lines of `python -c`
            return inspect.getsource(function)
    except OSError:  # it was typed into a session, not written to a file
        pass
    return marshal.dumps(function.__code__)


def _ours(name: str, given: str, settings: Mapping[str, Any], shown: str) -> Contestant:
    require_method(given)
    if settings and (given not in SMOOTHED or [*settings] != ["smoothing"]):
        what = "takes smoothing" if given in SMOOTHED else "has no parameters"
        raise DataError(f"'{given}' {what}, got {listing([*settings])}; smoothing is for {', '.join(SMOOTHED)}")
    if settings and not (is_number(settings["smoothing"]) and settings["smoothing"] > 0):
        raise DataError(f"smoothing must be a positive number, got {settings['smoothing']!r}")
    release = _release(BaseEstimator) if given in RIVALS else __version__
    return Contestant(name + shown, f"{given}{shown} {release}", given, settings, FITS.get(given))


def _title(estimator: BaseEstimator) -> str:
    steps: Sequence[Any] = getattr(estimator, "steps", None) or [("", estimator)]
    return " + ".join(type(step).__name__ for _, step in steps)


def _plain(value: Any) -> Any:
    """A parameter without the identity of nested estimators, whose own parameters are listed beside them."""
    if isinstance(value, BaseEstimator):
        return type(value).__qualname__
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _release(kind: type) -> str:
    package = kind.__module__.split(".")[0]
    try:
        return f"{package} {version({'sklearn': 'scikit-learn'}.get(package, package))}"
    except PackageNotFoundError:
        return package
