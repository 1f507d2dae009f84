"""What a study found, in sentences: which method is best where, and whether that is settled."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.comparison._differences import ALL_SETS
from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.studies.comparison._standings import NOT_SETTLED, SURE

FEW = 3  # sets that the first sentence names
ENOUGH = 10  # sets, from which something about others may be said
AGAINST = {"worse": "better than", "equal": "equal to", "better": "worse than"}
"""What the reference is, by the word on the other method."""


def headline(largest: pd.DataFrame, smallest: pd.DataFrame | None, rope: float) -> list[str]:
    """The claim of a study, and the sentences behind it.

    Args:
        largest, smallest: ``standings`` of one metric at the largest and at the smallest size; None if there is one.
        rope: Up to which a difference is none.
    """
    sizes, sets = largest.loc[largest["data_set"] != ALL_SETS, "size"].unique(), _sets(largest)
    rows = f"With {sizes[0]:,} training rows" if len(sizes) == 1 else "With the most training rows of each set"
    said = (
        [f"{rows} {_firsts(largest)}."] if len(sets) <= FEW else [f"{rows} {_rank(largest)}.", f"{_firsts(largest)}."]
    )
    said = [text[0].upper() + text[1:] for text in [*said, *_over_sets(largest)]]
    if largest["method"].nunique() > 1:
        said.append(
            f"Settled: with a probability above {SURE:g} every other method is worse by more than {rope:g}, or "
            "equal to within it."
        )
    return said if smallest is None else [*said, f"With the fewest training rows {_firsts(smallest)}."]


def _firsts(table: pd.DataFrame) -> str:
    """Which method is first on which sets, and where that is settled; of equal ones the reference."""
    metric, sets = STUDY_METRICS[table["metric"].iloc[0]], _sets(table)
    extreme = f"the {'highest' if metric.higher_is_better else 'lowest'} {metric.heading}"
    firsts = table[(table["best"] == 1) & (table["data_set"] != ALL_SETS)]
    firsts = firsts.sort_values("method", key=lambda names: names != table["reference"].iloc[0], kind="stable")
    firsts = firsts.drop_duplicates("data_set").sort_values("data_set", key=lambda names: names.map(sets.index))
    if firsts.empty:
        return f"no method has a {metric.heading} on every split of a set"
    won = sorted(firsts.groupby("method", sort=False)["data_set"].agg(list).items(), key=lambda item: -len(item[1]))
    ends = [
        f"'{name}'{'' if place else f' has {extreme}'} {_on(where, sets)}" for place, (name, where) in enumerate(won)
    ]
    settled = firsts.loc[firsts["settled"] == 1, "data_set"].to_list()
    if table["method"].nunique() == 1:
        return _and(ends)
    if not settled:
        return f"{_and(ends)}; that is not settled{'' if len(sets) == 1 else ' on any set'}"
    return f"{_and(ends)}; that is settled{'' if len(sets) == 1 else f' {_on(settled, sets)}'}"


def _rank(table: pd.DataFrame) -> str:
    """Which method ranks first over many sets, and against how many others that is settled."""
    together = table[table["data_set"] == ALL_SETS].set_index("method")
    first, others = together["rank"].idxmin(), len(together) - 1
    mean = f"with a mean rank of {together['rank'].min():.2f} of {others + 1} over {len(_sets(table))} sets"
    claim = f"'{first}' ranks first, {mean}"
    if first != table["reference"].iloc[0] or not others:
        return claim
    settled = together["than_reference"].isin(["worse", "equal"]).sum()
    return f"{claim}; that is settled against {'all' if settled == others else settled or 'none'} of {others} others"


def _over_sets(table: pd.DataFrame) -> list[str]:
    """What holds for most sets like these."""
    words = table[table["data_set"] == ALL_SETS].groupby("than_reference", sort=False)["method"].agg(list)
    open_ends, reference = words.get(NOT_SETTLED, []), table["reference"].iloc[0]
    found = [f"{text} {_quoted(words[name])}" for name, text in AGAINST.items() if name in words.index]
    if not (found or open_ends):
        return []
    few = f" {len(_sets(table))} sets are few to speak of others." if len(_sets(table)) < ENOUGH else ""
    if not found:
        return [f"on most sets like these nothing is settled between '{reference}' and the others.{few}"]
    rest = f"; against {_quoted(open_ends)} that is not settled" if open_ends else ""
    return [f"on most sets like these '{reference}' is {_and(found)}{rest}.{few}"]


def _on(places: Sequence[str], sets: Sequence[str]) -> str:
    if len(sets) > 1 and len(places) == len(sets):
        return "on both sets" if len(sets) == 2 else f"on all {len(sets)} sets"
    return f"on {_and(places)}" if len(places) <= limits.MOST_LISTED else f"on {len(places)} of {len(sets)} sets"


def _sets(table: pd.DataFrame) -> list[str]:
    return [name for name in table["data_set"].unique() if name != ALL_SETS]


def _quoted(names: Sequence[str]) -> str:
    return _and([f"'{name}'" for name in names])


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
