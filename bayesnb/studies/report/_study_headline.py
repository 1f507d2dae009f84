"""What a study found, in sentences: which method is best where, and whether that is settled."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.comparison._differences import ALL_SETS
from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.studies.comparison._standings import SURE

FEW, ENOUGH = 3, 10  # sets that the first sentence names, and from which something about others may be said


def headline(largest: pd.DataFrame, smallest: pd.DataFrame | None, rope: float) -> list[str]:
    """The claim of a study, and the sentences behind it.

    Args:
        largest, smallest: ``standings`` of one metric at the largest and at the smallest size; None if there is one.
        rope: Up to which a difference is none.
    """
    sizes, sets = largest.loc[largest["data_set"] != ALL_SETS, "size"].unique(), _sets(largest)
    rows = f"{sizes[0]:,} training rows" if len(sizes) == 1 else "the most training rows of each set"
    said = [_firsts(largest)]
    if len(sets) > 1 and largest["method"].nunique() > 1:
        said.insert(int(len(sets) <= FEW), _rank(largest))
    said = [f"With {rows}, {said[0]}", *(text[0].upper() + text[1:] for text in said[1:])]
    if largest["method"].nunique() > 1:
        few = f", and {len(sets)} sets tell little of others" if len(sets) < ENOUGH else ""
        said.append(
            f"Settled means that, with a probability above {SURE:g}, every other method is worse by more than {rope:g} "
            f"or equal to within {rope:g}{f'; over sets, on most sets like these{few}' if len(sets) > 1 else ''}."
        )
    return said if smallest is None else [*said, f"With the fewest training rows, {_firsts(smallest)}"]


def _firsts(table: pd.DataFrame) -> str:
    """Which method is first on which sets, and where that is settled; of equal ones the reference."""
    metric, sets = STUDY_METRICS[table["metric"].iloc[0]], _sets(table)
    extreme = f" has the {'highest' if metric.higher_is_better else 'lowest'} {metric.heading}"
    firsts = table[(table["best"] == 1) & (table["data_set"] != ALL_SETS)]
    firsts = firsts.sort_values("method", key=lambda names: names != table["reference"].iloc[0], kind="stable")
    firsts = firsts.drop_duplicates("data_set").sort_values("data_set", key=lambda names: names.map(sets.index))
    if firsts.empty:
        return f"no method has a {metric.heading} on every split of a set."
    won = sorted(firsts.groupby("method", sort=False)["data_set"].agg(list).items(), key=lambda item: -len(item[1]))
    named = [f"{_named(name)}{'' if place else extreme} {_on(where, sets)}" for place, (name, where) in enumerate(won)]
    claim, settled = _and(named), firsts.loc[firsts["settled"] == 1, "data_set"].to_list()
    if table["method"].nunique() == 1:
        return f"{claim}."
    if len(sets) == 1:
        return f"{claim}; that is {'' if settled else 'not '}settled."
    return f"{claim}; that is {f'settled {_on(settled, sets)}' if settled else 'not settled on any set'}."


def _rank(table: pd.DataFrame) -> str:
    """Which method ranks first over sets, and if it is the reference, against how many others that is settled."""
    together, num_sets = table[table["data_set"] == ALL_SETS].set_index("method"), len(_sets(table))
    first, others = together["rank"].idxmin(), len(together) - 1
    claim = f"{_named(first)} ranks first over {num_sets} sets, on average {together['rank'].min():.2f} of {others + 1}"
    if first != table["reference"].iloc[0]:
        return f"{claim}."
    words = together["than_reference"].value_counts()
    found = [f"{is_} {words[word]}" for word, is_ in (("worse", "better than"), ("equal", "equal to")) if word in words]
    return f"{claim}; {f'settled: {_and(found)}' if found else 'not settled against any'} of {others} others."


def _named(method: str) -> str:
    return "the default estimator" if method == "default" else f"'{method}'"


def _on(places: Sequence[str], sets: Sequence[str]) -> str:
    if len(sets) > 1 and len(places) == len(sets):
        return "on both sets" if len(sets) == 2 else f"on all {len(sets)} sets"
    return f"on {_and(places)}" if len(places) <= limits.MOST_LISTED else f"on {len(places)} of {len(sets)} sets"


def _sets(table: pd.DataFrame) -> list[str]:
    return [name for name in table["data_set"].unique() if name != ALL_SETS]


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
