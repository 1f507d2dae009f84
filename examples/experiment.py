# %% [markdown]
"""A small experiment: which way to fit Naive Bayes predicts best from n rows? Six ways, four data sets, paired splits.

    MLE, MAP           p(x | theta_hat), the plug-ins
    full Bayes         integral p(x | theta) p(theta | D) dtheta
    learned prior      full Bayes under a prior learned column by column, by evidence and a weak hyperprior
    averaged           full Bayes, the mean over all subsets of the features
    tempered           full Bayes, the features' likelihoods to one power, learned on the exact leave-one-out table

Every fit sees the same splits, so that differences are paired. The test rows of a set are the same for all, and its
training sets are drawn from the other rows, so that what training rows and test rows contribute to the error is told
apart: `sd / sqrt(splits)` would be far too small. The program prints its own numbers; what must hold is that from few
rows full Bayes loses less than the MLE, over all sets.
"""

# %%
from __future__ import annotations

import bayesnb as nb

SETS = ["iris", "wine", "breast_cancer", "digits"]
METHODS = ["MLE", "MAP", "full Bayes", "learned prior", "averaged", "tempered"]
SIZES = [20, 40, 80]
SPLITS = 20

# %% [markdown]
# **The runs.** A set is a name here, and may be `(X, y)`, a frame with its target, or a file. A method of your own is
# an estimator of scikit-learn, or a pair of a name and a function. With `out=` a folder every cell is kept, and a
# second run does only what is missing.

# %%
study = nb.experiment(SETS, METHODS, sizes=SIZES, splits=SPLITS)
study.frame().to_csv("experiment.csv", index=False)
print(study)

# %% [markdown]
# **Means** of the log loss, in nats a row, from the fewest rows and from the most.

# %%
print(study.scores(size=min(SIZES)).round(3), study.scores(size=max(SIZES)).round(3), sep="\n\n")

# %% [markdown]
# **Differences** from full Bayes on the same splits, with 95 % intervals and the probability of being better or worse
# by more than .01, by the estimator that the design allows; a size that is most of the rows to draw from has test rows
# of its own in each split, and another estimator.

# %%
differences = study.differences("full Bayes", rope=0.01)
shown = ["data_set", "size", "method", "mean", "low", "high", "p_better", "p_worse", "estimator"]
print(differences[differences["method"].isin(["MLE", "tempered"])][shown].round(2).to_string(index=False))
few = differences.query(f"data_set == 'all sets' and size == {min(SIZES)} and method == 'MLE'")
if len(few) and few["p_worse"].item() < 0.5:
    raise SystemExit(f"with {min(SIZES)} rows full Bayes must lose less than the MLE on most sets")

# %% [markdown]
# **The table of a paper**, in LaTeX.

# %%
print(study.to_latex("experiment.tex"))

# %% [markdown]
# **The picture**, on logarithmic scales. With few rows full Bayes is far below the plug-ins. What is left, the
# over-confidence of features that depend on each other, more rows do not cure; tempering does. Not everything pays
# everywhere: on iris the MLE has caught up at 40 rows. Bands are 95 % intervals of each mean; differences on the same
# splits, above, are surer than two bands that overlap look.
#
# ![Log loss against training rows on four sets, twenty splits each](images/experiment.png)

# %%
study.plot("experiment.png")
