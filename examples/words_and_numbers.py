# %% [markdown]
"""Words beside numbers: a column of text, a waiting time and a category in one classifier.

    log p(k | x) = const + log p(k) + log p(words | k, D) + log p(log hours | k, D) + log p(channel | k, D)

The words of the text are Multinomial given the class, the log hours Normal, the channel Categorical. Each block has its
own exact predictive, and their logarithms are added: text needs no pipeline of its own, and no weight against the
numbers has to be chosen.

The rows are tickets of a help desk, drawn here from known probabilities: a message of a few words, the hours that the
customer has waited, the channel, and the desk that solved it. The source prints no numbers for these; the program
prints its own. What must hold: the log likelihood ratios of words alone and of numbers alone, with the class prior,
add up to the log odds of both, and so do the contributions of single words and numbers.

Source: McCallum and Nigam, A comparison of event models for naive Bayes text classification (1998).
"""

# %%
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

import bayesnb as nb

# %% [markdown]
# **The tickets.** Each desk has words of its own, and all of them share the words of politeness. Returns wait for
# a day or more, and those who cannot log in chat at once.

# %%
NUM_TICKETS = 400
rng = np.random.default_rng(3)
WORDS = {
    "account": "password login locked email code reset device browser profile",
    "billing": "invoice charged twice card payment refund amount price tax",
    "returns": "parcel broken size label courier refund exchange box late",
    "all": "hello please help thanks order my your still waiting again problem customer number today",
}
*OWN_WORDS, SHARED_WORDS = (text.split() for text in WORDS.values())
DESKS = np.array([*WORDS][:3])
SHARES, LOG_HOURS = np.array([0.4, 0.35, 0.25]), np.log([2.0, 8.0, 30.0])
CHANNELS, CHANNEL_PROBS = ["chat", "email", "phone"], np.array([[0.6, 0.2, 0.2], [0.2, 0.5, 0.3], [0.2, 0.4, 0.4]])


def draw_tickets(num_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Messages, log hours and channels, and the desks that solved them."""
    codes = rng.choice(len(DESKS), num_rows, p=SHARES)
    messages = []
    for k in codes:
        own = rng.random(rng.integers(3, 8)) < 0.25
        messages.append(" ".join(rng.choice(OWN_WORDS[k] if is_own else SHARED_WORDS) for is_own in own))
    channels = [rng.choice(CHANNELS, p=CHANNEL_PROBS[k]) for k in codes]
    log_hours = rng.normal(LOG_HOURS[codes], 1.0).round(2)
    return pd.DataFrame({"message": messages, "log_hours": log_hours, "channel": channels}), DESKS[codes]


tickets, desks = draw_tickets(NUM_TICKETS)
new, truth = draw_tickets(2000)
print(tickets.head(4).to_string(index=False))

# %% [markdown]
# **Words alone, numbers alone, both.** A column is left out by the likelihood `skip`; the rest stays as it is.

# %%
LIKELIHOODS = {"message": "words", "log_hours": "normal", "channel": "categorical"}
COLUMNS = {"words alone": ["message"], "numbers alone": ["log_hours", "channel"], "both": [*LIKELIHOODS]}
fits, scores, log_odds = {}, {}, {}
print(f"\n{'':16}{'accuracy':>10}{'log loss':>10}")
for name, columns in COLUMNS.items():
    kept = {column: LIKELIHOODS[column] if column in columns else "skip" for column in LIKELIHOODS}
    fits[name] = nb.NaiveBayesClassifier(likelihoods=kept, method="posterior").fit(tickets, desks)
    log_proba = fits[name].predict_log_proba(new)
    log_odds[name] = log_proba - log_proba[:, [0]]
    scores[name] = fits[name].score(new, truth), log_loss(truth, np.exp(log_proba))
    print("{:16}{:10.3f}{:10.3f}".format(name, *scores[name]))
clf = fits["both"]
prior = nb.explain(clf, new[:1], against="account").prior
assert_allclose(log_odds["words alone"] + log_odds["numbers alone"] - prior, log_odds["both"], atol=1e-9)

# %% [markdown]
# **One ticket, by word and number.** Of all tickets on which words and numbers differ, and both together are right,
# this is the one where each is surest. Each word of the message has a contribution of its own, beside those of the
# numbers.

# %%
labels = {name: fit.predict(new) for name, fit in fits.items()}
torn = (labels["words alone"] != labels["numbers alone"]) & (labels["both"] == truth)
alone = np.minimum(*(fits[name].predict_proba(new).max(axis=1) for name in ("words alone", "numbers alone")))
row = int(np.where(torn, alone, 0).argmax())
rival = next(labels[name][row] for name in ("words alone", "numbers alone") if labels[name][row] != truth[row])
explanation = nb.explain(clf, new[row : row + 1], against=rival)
odds = dict(zip(clf.classes_, log_odds["both"][row], strict=True))
assert_allclose(explanation.log_odds[0], [odds[desk] - odds[rival] for desk in explanation.class_names], atol=1e-9)
print("\n" + new[row : row + 1].to_string(index=False), "\n")
print(explanation.table(0, 12, of=truth[row]))

# %% [markdown]
# **The words of each desk**: those of largest mean contribution to its log odds, in nats a word of the message.

# %%
strongest = nb.top_features(fits["words alone"], 4)
print(f"\n{strongest}")

# %% [markdown]
# **Saved and loaded**: the file holds the vocabulary too, so that a ticket is predicted from its text. A word that was
# never seen has a factor of one.

# %%
nb.save(clf, "tickets.bayesnb")
loaded = nb.load("tickets.bayesnb")
assert_array_equal(loaded.predict_proba(new), clf.predict_proba(new))
ticket = {"message": "the courier left my parcel in a puddle", "log_hours": np.log(40.0), "channel": "phone"}
print(f"\nloaded from tickets.bayesnb: {ticket['message']!r} goes to {loaded.predict(ticket)[0]}")

# %% [markdown]
# **The picture.** Left: tickets of the two desks by what words and numbers say. Neither axis alone tells them apart;
# the line is where both and the class prior add up to nothing. Right: the ticket above, word by word.
#
# ![Evidence of words against that of numbers, and contributions to one ticket](images/words_and_numbers.png)

# %%
picture, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
for_desk, against = (list(clf.classes_).index(desk) for desk in (truth[row], rival))
evidence = {name: (odds - prior)[:, for_desk] - (odds - prior)[:, against] for name, odds in log_odds.items()}
for desk, colour, marker in ((truth[row], "C0", "o"), (rival, "C1", "x")):
    own = np.flatnonzero(truth == desk)[:150]
    x, y = evidence["words alone"][own], evidence["numbers alone"][own]
    axes[0].scatter(x, y, s=18, color=colour, marker=marker, alpha=0.6, label=desk)
axes[0].axline((0, prior[against] - prior[for_desk]), slope=-1, color="C7", linewidth=1, label="both undecided")
x, y = evidence["words alone"][row], evidence["numbers alone"][row]
axes[0].scatter(x, y, s=120, color="none", edgecolor="black", label="the ticket above")
axes[0].set(
    title=f"evidence for {truth[row]} against {rival}, nats",
    xlabel="of the words",
    ylabel="of the hours and the channel",
)
axes[0].legend(frameon=False, fontsize=8)
nb.plots.contribution_bars(axes[1], explanation, 0, of=truth[row], count=8)
picture.savefig("words_and_numbers.png")
