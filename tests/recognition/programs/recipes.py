"""Eight spellings of each family, with every orientation of tables and every gather; ``tests/fuzz`` composes others."""

from dataclasses import replace

from tests.fuzz.programs import GATHERS, Recipe
from tests.fuzz.spellings import KINDS
from tests.recognition.case import CASES

AXES, PLATES = ("first", "last", "sites"), ("plates", "expand", "event")

for kind, family in KINDS.items():
    for n in range(8):
        axis, plates, gather = AXES[n % 3], PLATES[(n + n // 3) % 3], [*GATHERS][n % 5]
        spelling = n % len(family.spellings)
        recipe = Recipe(kind, spelling, axis, plates, gather, n % 2 == 0, "categorical", n % 4 < 2, None)
        CASES.append(replace(recipe.case(), name=f"recipes: {kind} {spelling}, {axis}, {plates}, {gather}"))
