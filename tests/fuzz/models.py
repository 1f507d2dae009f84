"""Models of every family, small: their sizes come from a pool, since each new size is compiled anew."""

from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import bayesnb as nb

KINDS = (
    "bernoulli", "categorical", "ragged", "multinomial", "binomial", "trials", "poisson", "normal", "shared",
    "covariance", "discriminant",
)  # fmt: skip
"""Families, and the forms of them that take other code."""


class Size(NamedTuple):
    """What is compiled: the kinds of the blocks, one or several; their columns; the classes; and the class prior."""

    kinds: tuple[str, ...]
    columns: tuple[int, ...]
    num_classes: int
    fixed: bool

    @property
    def single(self) -> bool:
        return len(self.kinds) == 1


FEW = [
    Size(("bernoulli",), (2,), 3, False),
    Size(("normal",), (2,), 3, False),
    Size(("multinomial", "ragged"), (2, 2), 3, True),
]
"""For a short run: each has its share of the seconds that compilation takes."""


def some_sizes(seed: int, number: int = 16) -> list[Size]:
    """Sizes of all there are: one block of each kind in turn, and blocks that are mixed."""
    rng = np.random.default_rng(seed)
    one = [
        Size((kind,), (int(columns),), int(classes), bool(fixed))
        for kind, columns, classes, fixed in product(KINDS, range(4), range(1, 5), (False, True))
    ]
    mixed = []
    for _ in range(len(one) // 2):
        kinds = tuple(rng.choice(KINDS, rng.integers(2, 4), replace=False).tolist())
        columns = tuple(int(d) for d in rng.integers(0, 4, len(kinds)))
        mixed.append(Size(kinds, columns, int(rng.integers(1, 5)), bool(rng.integers(2))))
    pool = one + mixed
    return [pool[i] for i in rng.choice(len(pool), number, replace=False)]


TAME = st.sampled_from([0.5, 1.0, 2.5])
WILD = st.sampled_from([1e-300, 1e-20, 1e-6, 1e6, 1e12])


@st.composite
def hyperparameter(draw: st.DrawFn, shape: tuple[int, ...], numbers: st.SearchStrategy[float]) -> float | np.ndarray:
    """A number, one a column, or one a class and column."""
    axes = draw(st.integers(0, len(shape)))
    if axes == 0:
        return draw(numbers)
    part = shape[len(shape) - axes :]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return draw(numbers) * rng.uniform(0.5, 2.0, part)


SIZES = (2, 5, 3)
"""Categories of the columns of a ragged block."""

TOTALS = (4, 7, 1)
"""Trials of the columns of a Binomial block."""


@st.composite
def family(draw: st.DrawFn, kind: str, columns: int, num_classes: int, wild: bool) -> nb.Family:
    """A family with hyperparameters of any rank that is allowed."""
    numbers = WILD if wild else TAME
    shape = (num_classes, columns)

    def some(*of: int) -> float | np.ndarray:
        return draw(hyperparameter(of or shape, numbers))

    match kind:
        case "bernoulli":
            return nb.Bernoulli(some(), some())
        case "categorical":
            return nb.Categorical(3, some(num_classes, columns, 3))
        case "ragged":
            return (
                nb.Categorical(SIZES[:columns], some(num_classes, sum(SIZES[:columns])))
                if columns
                else nb.Categorical(3)
            )
        case "multinomial":
            return nb.Multinomial(some())
        case "binomial":
            return nb.Binomial(TOTALS[:columns] or 4, some(), some())
        case "trials":
            return nb.Binomial(None, some(), some())
        case "poisson":
            return nb.Poisson(some(), some() if draw(st.booleans()) else None)
        case "normal":
            known = draw(st.booleans())
            rate = some() if known else None
            return nb.Normal(loc=some() if known else None, strength=some(), shape=some(), rate=rate)
        case "shared":
            return nb.Normal(strength=some(), variance="shared")
        case "covariance":
            return nb.MultivariateNormal(strength=some(num_classes))
        case "discriminant":
            return nb.MultivariateNormal("shared", strength=some(num_classes))
    raise ValueError(kind)


@st.composite
def model(draw: st.DrawFn, size: Size, wild: bool = False) -> nb.NaiveBayes:
    """A model of this size."""
    K = size.num_classes
    families = {
        kind: draw(family(kind, columns, K, wild)) for kind, columns in zip(size.kinds, size.columns, strict=True)
    }
    likelihoods = families[size.kinds[0]] if size.single else families
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if size.fixed:
        probs = rng.dirichlet(np.ones(K))
        return nb.NaiveBayes(likelihoods, class_probs=probs)
    concentration = draw(hyperparameter((K,), WILD if wild else TAME))
    return nb.NaiveBayes(likelihoods, class_concentration=concentration, num_classes=K)
