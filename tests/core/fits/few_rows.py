"""Few rows of every family, as blocks of one model."""

import numpy as np

import bayesnb as nb

K = 2
Y = np.arange(20) % K
RANDOM = np.random.default_rng(2)
X = {
    "flags": RANDOM.integers(0, 2, (20, 2)),
    "codes": RANDOM.integers(0, 2, (20, 2)),
    "words": RANDOM.poisson(2.0, (20, 3)),
    "reals": RANDOM.normal([5.0, 200.0] + Y[:, None], [1.0, 30.0], (20, 2)),
    "events": RANDOM.poisson([1.0, 40.0] * (1 + Y[:, None]), (20, 2)),
    "wins": RANDOM.binomial(6, 0.2 + 0.3 * Y[:, None], (20, 2)),
    "tied": RANDOM.normal([5.0, 200.0] + Y[:, None], [1.0, 30.0], (20, 2)),
    "bent": RANDOM.normal(size=(20, 2)) @ [[1.0, 24.0], [0.0, 18.0]] + [5.0, 200.0],
    "plane": RANDOM.normal(size=(20, 2)) @ [[1.0, 24.0], [0.0, 18.0]] + [5.0, 200.0] * (1 + Y[:, None]),
}
FAMILIES = {
    "flags": nb.Bernoulli(a=2.0),
    "codes": nb.Categorical((3, 2)),
    "words": nb.Multinomial(concentration=0.8),
    "reals": nb.Normal(shape=3.0),
    "events": nb.Poisson(shape=2.0, rate=None),
    "wins": nb.Binomial(6),
    "tied": nb.Normal(variance="shared"),
    "bent": nb.MultivariateNormal(),
    "plane": nb.MultivariateNormal("shared"),
}
