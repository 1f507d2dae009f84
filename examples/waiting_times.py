# %% [markdown]
"""Which likelihood? Survival times under five likelihoods: what the evidence chooses, and whether predictions agree.

    x_nd | y_n = k ~ f(theta_kd),   f one of Exponential, Gamma, Weibull, LogNormal, Normal

A likelihood of NumPyro is named, and posterior, evidence and leave-one-out follow without a sampler. The evidence asks
which likelihood makes the rows probable; leave-one-out asks which one tells the classes apart. The two need not agree.

The rows are 33 patients who died of acute myelogenous leukaemia, in two classes by a test of their white blood cells,
AG positive and AG negative, with the weeks that they lived and their white blood count, in thousands. The source prints
the mean survival of each class, 62.5 and 17.9 weeks, and says that exponential survival fits. No time is censored.

Source: Feigl and Zelen, Estimation of exponential survival probabilities with concomitant information (Biometrics,
1965), table 1.
"""

# %%
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

import bayesnb as nb

WEEKS = {
    "positive": [65, 156, 100, 134, 16, 108, 121, 4, 39, 143, 56, 26, 22, 1, 1, 5, 65],
    "negative": [56, 65, 17, 7, 16, 22, 3, 4, 2, 3, 8, 4, 3, 30, 4, 43],
}
CELLS = {
    "positive": [2.3, 0.75, 4.3, 2.6, 6, 10.5, 10, 17, 5.4, 7, 9.4, 32, 35, 100, 100, 52, 100],
    "negative": [4.4, 3, 4, 1.5, 9, 5.3, 10, 19, 27, 28, 31, 26, 21, 79, 100, 100],
}
X = np.array([[*row] for k in WEEKS for row in zip(WEEKS[k], CELLS[k], strict=True)], float)
y = np.repeat([1, 0], [len(WEEKS["positive"]), len(WEEKS["negative"])])  # 1 is AG positive
for k, weeks in WEEKS.items():
    print(f"AG {k}: {len(weeks)} patients, {np.mean(weeks):.1f} weeks on average")

# %% [markdown]
# **Five models** differ in one word. Shape and rate of a Gamma are both unknown, so no conjugate prior helps; a lattice
# over both does. `errors` says how far its sums are from the integrals, in nats.

# %%
LIKELIHOODS = {one.__name__: one for one in (dist.Exponential, dist.Gamma, dist.Weibull, dist.LogNormal, dist.Normal)}
models = {name: nb.NaiveBayes(nb.Likelihood(one)) for name, one in LIKELIHOODS.items()}
fits = {name: nb.fit_posterior(model, X, y) for name, model in models.items()}
print()
for name, fit in fits.items():
    worst = max(float(np.max(error)) for error in fit.errors["x"].values())
    print(f"{name:12} {type(fit).__name__}, largest error {worst:.0e}")

# %% [markdown]
# **The evidence**, for weeks and for cells. An Exponential has one parameter and says least, and no other likelihood
# makes up for the second. A Normal, which allows negative weeks, is out of the question.

# %%
evidence = {}
for d, column in enumerate(["weeks", "cells"]):
    evidence[column] = nb.compare_evidence(models, X[:, [d]], y)
    print(f"\n{column}")
    for name, log_evidence in evidence[column].log_evidence.items():
        print(f"  {name:12} log evidence {log_evidence:8.2f}, probability {evidence[column].probability[name]:.2g}")

# %% [markdown]
# **Do the predictions agree?** On patients like those of the table they do, within what 33 rows can tell; far out in
# the tails they differ. Leave-one-out is exact: each patient is predicted from the other 32.

# %%
NEW = np.array([[4.0, 30.0], [30.0, 10.0], [100.0, 4.0], [300.0, 300.0]])
print(
    f"\n{'P(positive) at':14}"
    + "".join(f"{weeks:6.0f}w {cells:4.0f}k" for weeks, cells in NEW)
    + "   left-out log loss"
)
losses, probabilities = {}, {}
for name, fit in fits.items():
    losses[name] = log_loss(y, np.exp(nb.leave_one_out(models[name], X, y)))
    probabilities[name] = fit.predict_proba(NEW)[:, 1]
    print(f"{name:14}" + "".join(f"{p:13.2f}" for p in probabilities[name]) + f"{losses[name]:20.3f}")

# %% [markdown]
# **More rows, and columns that depend.** In 569 tumours the first ten measurements are sizes and shapes of cells that
# repeat each other. Here an Exponential is refuted, by thousands of nats, and yet its predictions of new rows are the
# best: it is too wide, which makes up for the columns that count the same thing again and again. The evidence judges
# p(x), and says nothing about p(class | x) where the assumption of independence is wrong. A power, learned on left-out
# rows by `nb.temper`, mends that, and then the better density predicts better.

# %%
tumours = load_breast_cancer()
sizes, kinds = np.where(tumours.data[:, :10] > 0, tumours.data[:, :10], np.nan), tumours.target
print(f"\n{'tumours':12}{'log evidence':>14}{'log loss of new rows':>22}{'with a power':>15}")
of_tumours = {}
for name in ("Exponential", "Gamma", "LogNormal"):
    fit = nb.fit_posterior(models[name], sizes[::2], kinds[::2])
    both = fit, nb.temper(fit, sizes[::2], kinds[::2])
    of_new = [log_loss(kinds[1::2], one.predict_proba(sizes[1::2])) for one in both]
    of_tumours[name] = float(fit.log_evidence), *of_new
    print(f"{name:12}{of_tumours[name][0]:14.0f}{of_new[0]:22.3f}{of_new[1]:15.3f}")

# %% [markdown]
# **The picture.** Left: the density of weeks for the next patient of each class, with the patients as ticks. Right: the
# probability of AG positive by weeks alone.
#
# ![Predictive densities of weeks by class, and probabilities of AG positive by weeks](images/waiting_times.png)

# %%
picture, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
grid = np.linspace(1.0, 200.0, 400)[:, None]
for i, name in enumerate(["Exponential", "Gamma", "Weibull", "LogNormal"]):
    fit = nb.fit_posterior(models[name], X[:, :1], y)
    log_joint = fit.log_joint(grid) - fit.log_joint(np.full((1, 1), np.nan))  # a missing cell has the class prior alone
    axes[0].plot(grid, np.exp(log_joint[:, 1]), color=f"C{i}", label=name)
    axes[0].plot(grid, np.exp(log_joint[:, 0]), color=f"C{i}", linestyle="--")
    axes[1].plot(grid, fit.predict_proba(grid)[:, 1], color=f"C{i}", label=name)
for weeks, foot, colour in ((WEEKS["positive"], 0.0, "black"), (WEEKS["negative"], -0.002, "C7")):
    axes[0].plot(weeks, np.full(len(weeks), foot), "|", color=colour)
axes[0].set(title="solid: AG positive, dashed: negative", xlabel="weeks", ylabel="density", ylim=(-0.004, 0.08))
axes[1].set(title="P(AG positive | weeks)", xlabel="weeks", ylim=(0, 1))
axes[1].legend(frameon=False)
picture.savefig("waiting_times.png")
