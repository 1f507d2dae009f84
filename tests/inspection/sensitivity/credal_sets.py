"""The three sets on which JNCC2 printed its figures, coded by its cuts, and small problems."""

import numpy as np
import pandas as pd

import bayesnb as nb

CUTS = {
    "contact-lenses": {},
    "iris": {"sepallength": [5.75], "sepalwidth": [3.35], "petallength": [2.45, 4.95], "petalwidth": [0.7, 1.65]},
    "glass": {
        "RI": [1.51734],
        "Na": [13.665],
        "Mg": [1.97, 3.29],
        "Al": [1.39, 1.725],
        "K": [0.055, 1.255],
        "Ca": [6.7, 7.005, 8.315, 9.67],
        "Ba": [0.4],
    },
}


def read(folder, name, num_classes):
    """A posterior fitted to the training half, and the codes and labels of the test half."""
    halves = [pd.read_csv(folder / "credal" / f"{name}.{half}.csv") for half in ("train", "test")]
    cuts, both = CUTS[name], pd.concat(halves)
    *columns, target = both.columns
    columns = [*cuts] or columns
    coded = {c: np.digitize(both[c], cuts[c], right=True) if cuts else pd.factorize(both[c])[0] for c in columns}
    codes, labels = np.stack([*coded.values()], axis=1), pd.factorize(both[target], sort=True)[0]
    n = len(halves[0])
    model = nb.NaiveBayes(nb.Categorical(codes.max(axis=0) + 1), num_classes=num_classes)
    return nb.fit_posterior(model, codes[:n], labels[:n]), codes[n:], labels[n:]


def tables(seed=0, rows=30, classes=3, columns=4):
    """Rows of categories that say something about their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = (rng.random((rows, columns)) < 0.3 + 0.3 * rng.random((classes, columns))[y]).astype(int) + (
        rng.random((rows, columns)) < 0.2
    )
    return X, y


def fitted(X, y, **options):
    return nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3), num_classes=3, **options), X, y)
