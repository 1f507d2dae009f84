"""Short formats of numbers: the same figure reads the same on the console, in a sentence and on the page."""

from decimal import Decimal


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
    """A mean and its standard error to the same decimal place; the mean alone without an error."""
    text = number(mean, sign)
    return text if error is None else f"{text} ±{number(error, digits=_digits(abs(mean)))}"


def _digits(size: float) -> int:
    return 3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0


def probability(value: float) -> str:
    """A probability: 0.980."""
    return f"{value:.3f}"


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
