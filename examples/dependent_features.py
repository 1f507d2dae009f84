# %% [markdown]
"""When features depend: see it, know what it costs, and choose what to do about it.

    naive     p(y = k | x)  is proportional to  p(k) prod_d p(x_d | k)
    forests   the mean over all forests in which a feature looks at the class and at one other feature
    powers    p(k) prod_d p(x_d | k)^w_d,   w learned on the exact leave-one-out table

Two features that say the same are counted twice, and Naive Bayes is too sure of itself. More rows do not cure it: the
model is wrong, and not uncertain. The rows are made up, so that it is known which features depend on which: three
symptoms come from one hidden cause, and two others are alone. What is checked is that the dependence is found where it
is, and that both cures lower the log loss of rows that were held out.

Source: Chow and Liu, Approximating discrete probability distributions with dependence trees (1968); Meila and Jaakkola,
Tractable Bayesian learning of tree belief networks (2006), for the mean over trees.
"""

# %%
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

import bayesnb as nb

NAMES = ["cough", "fever", "fatigue", "rash", "headache"]

# %% [markdown]
# **The rows.** An infection makes cough, fever and fatigue likelier, and so does the disease through it: given the
# disease the three still depend on each other. Rash and headache depend on the disease alone.


# %%
def make_rows(num_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Zeros and ones [N, 5], and who has the disease [N]."""
    rng = np.random.default_rng(seed)
    y = (rng.random(num_rows) < 0.4).astype(int)
    infected = rng.random(num_rows) < np.where(y == 1, 0.7, 0.3)
    together = rng.random((num_rows, 3)) < np.where(infected, 0.9, 0.1)[:, None]
    alone = rng.random((num_rows, 2)) < np.where(y == 1, 0.6, 0.3)[:, None]
    return np.hstack([together, alone]).astype(int), y


X, y = make_rows(300, seed=0)
X_test, y_test = make_rows(5000, seed=1)

# %% [markdown]
# **Is the assumption true?** `nb.dependence` asks it of every pair, given the class: how many nats the two tell of each
# other in a row, and the log Bayes factor, the evidence of all rows for dependence. 5 nats are 150 to 1; a negative
# factor is evidence that the two are independent.

# %%
found = nb.dependence(X, y)
print(found)
for pair in found.strongest():
    a, b = NAMES[int(pair.first)], NAMES[int(pair.second)]
    print(f"{a + ', ' + b:18} {pair.mutual_information:6.3f} nats a row, log Bayes factor {pair.log_bayes_factor:6.1f}")

# %% [markdown]
# The pairs of cough, fever and fatigue depend on each other beyond doubt, by 25 nats and more. All other factors are
# negative. Of rash and headache, which are independent, the rows say next to nothing. At -4.4 they speak for
# independence by eighty to one. It is the evidence that forests, below, have for each of their edges.

# %% [markdown]
# **What it costs.** The exact posterior counts one infection three times. Its classes are about right and its
# probabilities are not.

# %%
model = nb.NaiveBayes(nb.Bernoulli())
naive = nb.fit_posterior(model, X, y)

# %% [markdown]
# **Two cures.** Powers weigh the repeated evidence down and leave the model as it is. Forests model the dependence
# itself: exact, averaged over all forests, one determinant a row. They may be combined.

# %%
tempered = nb.temper(naive, X, y, per_feature=True)
forests = nb.fit_forests(model, X, y)
both = nb.temper(forests, X, y, per_feature=True)
fits = {"naive": naive, "powers": tempered, "forests": forests, "forests, powers": both}
losses = {name: log_loss(y_test, fit.predict_proba(X_test)) for name, fit in fits.items()}
for name, loss in losses.items():
    surest = fits[name].predict_proba(X_test).max(axis=1)
    right = fits[name].predict(X_test) == y_test
    print(f"{name:16} log loss {loss:.3f}, accuracy {right.mean():.3f}, mean confidence {surest.mean():.3f}")
print("powers:", dict(zip(NAMES, np.asarray(tempered.powers["x"]).round(2).tolist(), strict=True)))

# %% [markdown]
# **Who depends on whom** is a posterior probability for each pair. The three symptoms of the infection hang together.
# A forest has at most two edges among three features; 300 rows are enough to choose which two.

# %%
edges = np.asarray(forests.edge_probs)
either = edges + edges.T
for a in range(len(NAMES)):
    for b in range(a):
        print(f"p({NAMES[b]} - {NAMES[a]}) = {either[a, b]:.2f}")
picture, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
nb.plots.dependence(axes, forests, feature_names=NAMES)
picture.savefig("dependent_features.png")

# %% [markdown]
# **What must hold.**

# %%
repeated, others = either[:3, :3].sum() / 2, either[3:].sum() + either[:3, 3:].sum()
if not (repeated > 1.9 and others < 1.0):
    raise SystemExit(f"the edges must be among the first three features, got {either.round(2)}")
if not max(losses["powers"], losses["forests"]) < losses["naive"]:
    raise SystemExit(f"both cures must lower the log loss, got {losses}")
