"""What counts as a refusal: an error that bayesnb itself raised, in a sentence of plain English, within a time."""

import dis
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import bayesnb

PACKAGE = str(Path(bayesnb.__file__).parent)
VALIDATION = ("sklearn/utils/", "click/")
"""Whose sentences are the package's own: it calls them to say what scikit-learn and click say everywhere."""

INTERNAL = ("'NoneType'", "unsupported operand", "object has no attribute", "Traceback", "Tracer")
"""Words of which a sentence has none before its first colon, after which it may quote what somebody else said."""

LEAST_WORDS = 4
SECONDS = 60
"""Of one example, compilations included; more is a hang."""


class Refused(Exception):
    """The answer was a sentence."""


def is_sentence(error: BaseException) -> bool:
    """True for a ValueError or TypeError that a ``raise`` of the package's gave, in words that a user reads."""
    if not isinstance(error, ValueError | TypeError):
        return False
    text = str(error)
    return _raised_by_us(error.__traceback__) and len(text.split()) >= LEAST_WORDS and not _internal(text)


def _internal(text: str) -> bool:
    return any(word in text.split(": ")[0] for word in INTERNAL)


def _raised_by_us(trace: TracebackType | None) -> bool:
    if trace is None:
        return False
    inside = False
    while trace.tb_next is not None:
        inside |= trace.tb_frame.f_code.co_filename.startswith(PACKAGE)
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if code.co_filename.startswith(PACKAGE):
        # a line of ours that calls numpy's C code is the last one, too: what it says is numpy's
        return dis.opname[code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    return inside and any(place in code.co_filename for place in VALIDATION)


def answer(call: Callable[[], Any]) -> Any:
    """What the call returns; ``Refused`` for a sentence, and any other error as it is."""
    try:
        return call()
    except Exception as error:
        if is_sentence(error):
            raise Refused(str(error)) from error
        raise


@contextmanager
def in_time(seconds: int = SECONDS) -> Iterator[None]:
    """Ends what takes longer by an error."""

    def stop(*_: object) -> None:
        raise AssertionError(f"no answer within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
