"""The error for programs that are not recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping

NO_ROWS = "the example data have no rows: give at least two"

FROM_ZERO = "labels count from 0: pass y - 1, and let the program index by the labels as they are, theta[y]"

NO_LABEL = "leave rows without a label out, and give them to fit_em with label -1"

ONE_SITE = f"let one site have all rows, and index its parameters by the label, theta[y]; {NO_LABEL}"

SUMMED_OUT = f"; where it sums out a label, {ONE_SITE}"


class NotNaiveBayes(ValueError):
    """The program is not a Naive Bayes model that this package knows; the message names the site and the reason.

    It has a line for each of the ``obstacles``, and a last one for what was recognised, if any other site was.

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

    def __init__(self, *obstacles: str, recognised: Mapping[str, str] | None = None) -> None:
        self.obstacles = obstacles
        beside = [line for site, line in (recognised or {}).items() if repr(site) not in " ".join(obstacles)]
        super().__init__("\n".join([*obstacles, *[f"recognised: {'; '.join(beside)}"] * bool(beside)]))

    @property
    def site(self) -> str:
        """The first site that the message names."""
        found = re.search(r"(?:site|plate) '([^']*)'", str(self))
        return found.group(1) if found else ""
