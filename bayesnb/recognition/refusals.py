"""The error for programs that are not recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jax

NO_ROWS = "the example data have no rows: give at least two"


class NotNaiveBayes(ValueError):
    """The program is not a Naive Bayes model that this package knows; the message names the site and the reason.

    Example:
        >>> import numpy as np, numpyro, numpyro.distributions as dist, bayesnb as nb
        >>> def regression(x, y=None):
        ...     slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
        ...     numpyro.sample("y", dist.Bernoulli(logits=slope * x), obs=y)
        >>> try:
        ...     nb.from_numpyro(regression, model_args=(np.array([0.5, 1.5]), np.array([0, 1])), label="y")
        ... except nb.NotNaiveBayes as error:
        ...     print(str(error).partition(":")[0])
        the program has no observed site beside the label 'y'
    """


@contextmanager
def explain_errors(call: Callable[[], str]) -> Iterator[None]:
    """Errors that the program raises, preceded by which call it was."""
    try:
        yield
    except NotNaiveBayes:
        raise
    except Exception as error:
        words = " ".join(str(error).split("\n--------------------")[0].split())
        if isinstance(error, jax.errors.JAXTypeError):
            words = (
                str(error).splitlines()[0].rstrip(".")
                + ": latents are traced, so use jnp.where instead of if, and jnp, not numpy"
            )
        raise NotNaiveBayes(
            f"the program fails when it is called as {call()}: {type(error).__name__}: {words}"
        ) from error
