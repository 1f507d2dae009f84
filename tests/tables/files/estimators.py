"""Estimators to export, each with its rows."""

import numpy as np

import bayesnb as nb
from tests.tables.sklearn.frame_of_every_kind import FRAME, KINDS, Y

NUMBERS = FRAME[["age", "visits", "stays"]]
COUNTS = FRAME[["class", "visits", "stays"]]
PLAIN = {name: kind for name, kind in KINDS.items() if name != "stays"}
MADE = {
    "columns of every kind": (PLAIN, FRAME, Y),
    "a column of a family": ({"stays": nb.Poisson()}, NUMBERS, Y),
    "one family": (nb.MultivariateNormal(), NUMBERS, Y == "old"),
    "words": ("multinomial", COUNTS, Y),
    "an array of numbers": ("auto", NUMBERS.to_numpy(), np.where(Y == "old", 3, 7)),
    "an array of codes": (["categorical", "poisson", "normal"], COUNTS.to_numpy(), Y),
    "an array of words": ("multinomial", COUNTS.to_numpy(), Y),
}
