# %% [markdown]
"""Labels that are paths: sequences are placed in a tree, as deep as the model is sure, or as deep as errors allow.

    x | y = k ~ Multinomial(theta_k)             the words of a sequence, all its runs of six bases
    p(node | x) = sum of p(k | x) over the classes k at or below the node
    cost(j | x) = sum_k p(k | x) cost(k, j)      of reporting the node j where the class is k

Taxonomists place genes so, and report the deepest rank that is sure enough. The words of a sequence overlap: each base
is counted six times, so that the plain model is far too sure. A power of its likelihood, learned on the exact
leave-one-out table, mends that, and only then does a confidence mean what it says.

The sequences are drawn here: a gene changes down a tree of two phyla, four classes and twelve genera, and reads are
pieces of it with errors. One genus is kept from the model, as most of nature is. The source prints no numbers for
these; the program prints its own. What must hold: the probabilities of siblings add up to that of the node above.

Sources: Wang, Garrity, Tiedje and Cole, Naive Bayesian classifier for rapid assignment of rRNA sequences into the new
bacterial taxonomy (2007); Drummond and Holte, Cost curves (2006).
"""

# %%
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import CountVectorizer

import bayesnb as nb

# %% [markdown]
# **The tree**, and a gene of 600 bases that changes down it.

# %%
NUM_READS = 1200
rng = np.random.default_rng(4)
BASES, LENGTH, PIECE, WORD = np.array(list("acgt")), 600, 50, 6


def change(genes: np.ndarray, rate: float) -> np.ndarray:
    """Copies in which each base is drawn anew with this probability."""
    return np.where(rng.random(genes.shape) < rate, rng.integers(0, 4, genes.shape), genes)


genes = {"": rng.integers(0, 4, LENGTH)}
for names, rate in [(("Alpha", "Beta"), 0.2), (("I", "II"), 0.1), (("a", "b", "c"), 0.04)]:
    parents = {path: gene for path, gene in genes.items() if path.count(";") == max(p.count(";") for p in genes)}
    genes |= {f"{path};{name}".strip(";"): change(gene, rate) for path, gene in parents.items() for name in names}
genera = np.array([path for path in genes if path.count(";") == 2])
unknown, known = genera[-1], genera[:-1]
print(f"{len(known)} genera are known, {unknown} is not")

# %% [markdown]
# **Reads**, and their words: sparse counts of runs of six bases.


# %%
def draw_reads(labels: np.ndarray) -> list[str]:
    """A piece of the gene of each label, with errors."""
    pieces = []
    for label in labels:
        start = rng.integers(0, LENGTH - PIECE + 1)
        pieces.append("".join(BASES[change(genes[label][start : start + PIECE], 0.04)]))
    return pieces


words = CountVectorizer(analyzer="char", ngram_range=(WORD, WORD))
y = np.repeat(known, 60)
X = words.fit_transform(draw_reads(y))
y_new = rng.choice(genera, NUM_READS)
X_new = words.transform(draw_reads(y_new))
print(f"{X.shape[0]} reads to learn from, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} different ones a read")

# %% [markdown]
# **Probabilities summed up the tree**, of the plain model and of the one with a learned power.

# %%
plain = nb.NaiveBayesClassifier("multinomial", method="posterior").fit(X, y)
tempered = nb.temper(plain, X, y)  # leaves each row out
trees = {
    name: nb.roll_up(clf.predict_log_proba(X_new), clf.classes_)
    for name, clf in (("plain", plain), ("learned power", tempered))
}
tree = trees["learned power"]
of = {node: tree.proba[:, place] for place, node in enumerate(tree.nodes)}
assert_allclose(of["Alpha;I"] + of["Alpha;II"], of["Alpha"], atol=1e-12)
assert_allclose(of["Alpha"] + of["Beta"], 1.0)


def holds(nodes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each node is the label's own or one above it."""
    pairs = zip(nodes, labels, strict=True)
    return np.array([f"{label};".startswith(f"{node};" if node else "") for node, label in pairs])


def depth(nodes: np.ndarray) -> np.ndarray:
    """0 for the root, 3 for a genus."""
    return np.array([node.count(";") + 1 if node else 0 for node in nodes])


seen = y_new != unknown
confidences = (0.5, 0.7, 0.9, 0.99)
print(f"\n{'':16}{'confidence':>10}{'right':>8}{'mean rank':>11}{'right, unknown genus':>22}{'mean rank':>11}")
placed = {}
for name, found in trees.items():
    for confidence in confidences:
        nodes = found.deepest(confidence=confidence)
        right, ranks = holds(nodes, y_new), depth(nodes)
        placed[name, confidence] = right[seen].mean(), ranks[seen].mean()
        cells = right[seen].mean(), ranks[seen].mean(), right[~seen].mean(), ranks[~seen].mean()
        print(f"{name:16}{confidence:10}" + "{:8.3f}{:11.2f}{:22.3f}{:11.2f}".format(*cells))

# %% [markdown]
# **Decisions with costs.** A wrong node costs 4, and each rank that a right one lacks costs 1. The node to report is
# that of least expected cost, with one column of costs for each node and the root. The confidence that this amounts to
# need not be chosen by hand. It counts on known genera: reads of the unknown one cost more than was expected.

# %%
nodes = np.array([*tree.nodes, ""], dtype=object)
costs = np.array([np.where(holds(nodes, np.full(len(nodes), k)), 3 - depth(nodes), 4) for k in tempered.classes_])
print(f"\n{'mean cost of a read':44}{'known genus':>12}{'unknown':>9}")
spent = {}
for name, clf in (("plain", plain), ("learned power", tempered)):
    proba = clf.predict_proba(X_new)
    reported = {
        "the most probable genus": clf.classes_[proba.argmax(axis=1)],
        "the deepest node above .7": trees[name].deepest(confidence=0.7),
        "least expected cost": nodes[nb.decide(proba, costs).labels],
    }
    for rule, found in reported.items():
        lacking = np.where(seen, 3, 2) - depth(found)
        cost = np.where(holds(found, y_new), lacking, 4)
        spent[name, rule] = cost[seen].mean()
        print(f"{name:16}{rule:28}{cost[seen].mean():12.3f}{cost[~seen].mean():9.3f}")

# %% [markdown]
# **The picture.** Left: how often the deepest node is right, against the confidence asked of it: the plain model is
# right less often than was asked. Right: the cost of telling one genus from all others, whatever the two errors cost.
# Where misses are nearly all of the cost, the plain model, which is sure of its errors, costs more than to look at no
# read; in between it is the cheaper one, as the power makes both errors look likelier than they are. The faint lines
# are the best thresholds in hindsight.
#
# ![Share of right nodes against the confidence asked for, and the cost curve of one genus](images/taxonomy.png)

# %%
picture, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
asked = np.linspace(0.3, 0.999, 40)
for (name, found), colour, line in zip(trees.items(), ("C1", "C0"), ("--", "-"), strict=True):
    share = [holds(found.deepest(confidence=c)[seen], y_new[seen]).mean() for c in asked]
    axes[0].plot(asked, share, color=colour, linestyle=line, label=name)
axes[0].plot([0.3, 1], [0.3, 1], color="0.6", linewidth=1, label="asked")
axes[0].set(title="reads of known genera", xlabel="confidence asked for", ylabel="share of right nodes")
axes[0].legend(frameon=False)
node = "Alpha;I;a"
label = holds(np.full(len(y_new), node, dtype=object), y_new).astype(int)
one = {name: found.proba[:, found.nodes.index(node)].clip(0, 1) for name, found in reversed(trees.items())}
nb.plots.cost_curve(axes[1], {name: np.stack([1 - p, p], axis=1) for name, p in one.items()}, label)
axes[1].set_title(f"{node} or not", fontsize=11, loc="left")
axes[1].legend(frameon=False)
picture.savefig("taxonomy.png")
