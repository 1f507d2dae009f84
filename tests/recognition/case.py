"""One NumPyro program and what recognition must answer; the rows that all programs share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import bayesnb as nb
from bayesnb.core.model._declarations import hyperpriors

N, K, D, C = 12, 2, 3, 4
"""Rows, classes, columns and categories."""

RANDOM = np.random.default_rng(11)
Y = np.arange(N) % K
Y3 = np.array([0, 1, 2, 2, 1, 0, 0, 2, 1, 0, 1, 2])
FLAGS = RANDOM.integers(0, 2, (N, D)).astype(float)
CODES = RANDOM.integers(0, C, (N, D))
COUNTS = RANDOM.poisson(2.0, (N, D)).astype(float)
TOTALS = COUNTS + RANDOM.integers(1, 4, (N, D))
TRIALS = 15
REALS = RANDOM.normal(1.0, 2.0, (N, D))
PI = np.array([1.5, 2.5])
"""Concentration of the class probabilities."""

Values = Mapping[str, Any]
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Case:
    """A program, and the answer to it.

    ``call(X, y)`` is the function with its arguments for these rows. Of an accepted program, ``expected`` is the model
    composed by hand, and ``canonical`` gives the values of its sites from those of the program's. ``answer``:

    - "conjugate", or "own priors", where ``sites`` are those without a conjugate prior;
    - "either": one of these two, and ``expected`` has the likelihood alone;
    - "refused", by a sentence with the name of ``sites[0]`` and a match of ``reason``, as is "bad input";
    - "honoured": refused, or a model with the program's own density.
    """

    name: str
    call: Callable[[Any, Any], Call]
    X: Any
    y: Any
    answer: str
    label: str = "y"
    expected: nb.NaiveBayes | None = None
    canonical: Callable[[Values], dict[str, Any]] = dict
    sites: tuple[str, ...] = ()
    reason: str = ""

    @property
    def accepted(self) -> bool:
        return self.answer in ("conjugate", "own priors", "either")

    @property
    def hierarchical(self) -> bool:
        return bool(hyperpriors(self.expected))

    def recognise(self) -> nb.NaiveBayes:
        """The answer, the same object each time."""
        return _recognise(self)

    def observed(self) -> Any:
        """What the program observes in its rows, which are its arguments or are made from them."""
        _, args, kwargs = self.call(self.X, self.y)
        return self.recognise().rows(*args, **kwargs)

    def __str__(self) -> str:
        return self.name


@cache
def _recognise(case: Case) -> nb.NaiveBayes:
    fn, args, kwargs = case.call(case.X, case.y)
    return nb.from_numpyro(fn, model_args=args, model_kwargs=kwargs, label=case.label)


CASES: list[Case] = []
"""Every case, in the order in which the modules of ``programs`` declare them."""


def declare(fn: Callable[..., Any], case: Case, call: Callable[[Any, Any], Call] | None, name: str = "") -> None:
    theme = fn.__module__.rpartition(".")[2]
    name = f"{theme}: {name or fn.__name__}".replace("_", " ")
    CASES.append(replace(case, name=name, call=call or (lambda X, y: (fn, (X, y), {}))))


def accept(
    expected: nb.NaiveBayes | None,
    canonical: Callable[[Values], dict[str, Any]],
    X: Any,
    y: Any = Y,
    *,
    answer: str = "conjugate",
    label: str = "y",
    sites: tuple[str, ...] = (),
    call: Callable[[Any, Any], Call] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: this program must be accepted."""

    def keep(fn: Callable[..., Any]) -> Callable[..., Any]:
        declare(fn, Case("", None, X, y, answer, label, expected, canonical, sites), call)
        return fn

    return keep


def refuse(
    site: str,
    reason: str,
    X: Any,
    y: Any = Y,
    *,
    answer: str = "refused",
    label: str = "y",
    call: Callable[[Any, Any], Call] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: this program must be refused, naming the site and the reason."""

    def keep(fn: Callable[..., Any]) -> Callable[..., Any]:
        declare(fn, Case("", None, X, y, answer, label, sites=(site,), reason=reason), call)
        return fn

    return keep
