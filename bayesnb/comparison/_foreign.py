"""Fits by other authors' code: through joblib, or one by one in a process that is ended when a fit takes too long."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import joblib
from joblib.externals.loky.backend.reduction import dumps

T = TypeVar("T")
SIZE_BYTES = 8


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
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = ThreadPoolExecutor(1)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._reader.shutdown()

    def attempt(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Answer:
        """As the function ``attempt``."""
        if self._process is None:
            # all is imported before the clock starts
            code = "import bayesnb.comparison._run; from bayesnb.comparison._foreign import serve; serve()"
            path = os.pathsep.join(place or "." for place in sys.path)
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )
            self._receive()  # that it is ready
        assert self._process.stdin is not None
        started = time.perf_counter()
        try:
            _send(self._process.stdin, dumps((function, args)))
            return Answer(*self._reader.submit(self._receive).result(self._timeout))
        except TimeoutError:
            value = Failed(f"it took longer than timeout={self._timeout:g} seconds, and was ended")
        except (EOFError, OSError):
            value = Failed(f"its process ended (exit code {self._process.wait()})")
        except Exception as error:  # what cannot be sent
            value = Failed(f"{type(error).__name__}: {error}")
        self._end()
        return Answer(value, time.perf_counter() - started)

    def _receive(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        return pickle.loads(_read(self._process.stdout))

    def _end(self) -> None:
        """End the process with all that it has started."""
        if self._process is not None:
            if hasattr(os, "killpg"):
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve() -> None:
    """Answer calls from standard input until it ends; what they print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _send(answers, pickle.dumps("ready"))
    while True:
        try:
            function, args = pickle.loads(_read(sys.stdin.buffer))
        except EOFError:
            return
        _send(answers, pickle.dumps(tuple(attempt(function, *args))))


def _send(stream: Any, content: bytes) -> None:
    stream.write(len(content).to_bytes(SIZE_BYTES, "little") + content)
    stream.flush()


def _read(stream: Any) -> bytes:
    size = stream.read(SIZE_BYTES)
    if len(size) < SIZE_BYTES:
        raise EOFError
    return bytes(stream.read(int.from_bytes(size, "little")))
