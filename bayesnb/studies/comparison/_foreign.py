"""Fits by other authors' code: through joblib, or one by one in a process that is ended when a fit takes too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import joblib
from joblib.externals.loky import ProcessPoolExecutor

T = TypeVar("T")


class Failed(NamedTuple):
    """What stands for the answer of a method that raised, hung or ended its process."""

    reason: str


class Answer(NamedTuple):
    """What a function returned, or ``Failed``, and its wall time."""

    value: Any
    seconds: float


def attempt(function: Callable[..., Any], *args: Any) -> Answer:
    """Call a function that may raise anything."""
    started = time.perf_counter()
    try:
        found = function(*args)
    except Exception as error:
        found = Failed(" ".join(f"{type(error).__name__}: {error}".split()))
    return Answer(found, time.perf_counter() - started)


def attempt_all(
    function: Callable[..., Any], tasks: Sequence[tuple[T, tuple[Any, ...]]], worker: Worker | None = None
) -> Iterator[list[tuple[T, Answer]]]:
    """``function`` of the arguments of each task, in batches: as many as joblib's present backend has workers.

    With a ``worker`` one by one in its process.
    """
    if worker is not None:
        for name, args in tasks:
            yield [(name, worker.attempt(function, args))]
        return
    step = max(joblib.effective_n_jobs(None), 1)
    for start in range(0, len(tasks), step):
        some = tasks[start : start + step]
        answers = joblib.Parallel()(joblib.delayed(attempt)(function, *args) for _, args in some)
        yield [(name, answer) for (name, _), answer in zip(some, answers, strict=True)]


class Worker:
    """A process that answers call after call, and is started anew after one that took longer than ``timeout`` seconds.

    It is no fork, as JAX does not survive one, and it does not run the caller's script again, as multiprocessing would.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._process: ProcessPoolExecutor | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def attempt(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Answer:
        """As the function ``attempt``."""
        if self._process is None:
            self._process = ProcessPoolExecutor(1)
            self._process.submit(import_module, "bayesnb.studies.comparison._run").result()  # before the clock starts
        started = time.perf_counter()
        try:
            return Answer(*self._process.submit(attempt, function, *args).result(self._timeout))
        except TimeoutError:
            reason = f"it took longer than timeout={self._timeout:g} seconds, and was ended"
        except BrokenProcessPool as error:
            reason = f"its process ended: {' '.join(str(error).split())}"
        except Exception as error:  # what cannot be sent
            reason = f"{type(error).__name__}: {error}"
        self._end()
        return Answer(Failed(reason), time.perf_counter() - started)

    def _end(self) -> None:
        """End the process with all that it has started."""
        if self._process is not None:
            self._process.shutdown(kill_workers=True)
            self._process = None
