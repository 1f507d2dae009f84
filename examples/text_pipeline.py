# %% [markdown]
"""Text in a scikit-learn pipeline: words are counted, and the counts are Multinomial given the class.

    x | y = k ~ Multinomial(theta_k),   theta_k ~ Dirichlet(l, ..., l)
    plug-in   prod_w [(c_kw + l) / (c_k + l W)]^x_w                        the MAP under Dirichlet(1 + l)
    exact     Gamma(c_k + l W) / Gamma(c_k + l W + n) prod_w Gamma(c_kw + l + x_w) / Gamma(c_kw + l)

with c the counts of the training rows and n the words of the new one. Both give one word the same probability. The
exact predictive, the Dirichlet-multinomial, learns while it reads on: a word that has come once is more probable to
come again, in every class, so that its repetitions are weaker evidence as a rule, and the classifier is less sure.

The messages are four dozen short notes written for this file. With `--data DIR`, the folder of `sms_spam.tsv`, they
are the SMS Spam Collection (Almeida, Hidalgo and Yamakami 2011). The program prints its own numbers; what is checked
is that both rules agree on single words.

Source: Madsen, Kauchak and Elkan, Modeling word burstiness using the Dirichlet distribution (2005).
"""

# %%
from __future__ import annotations

import html
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline

import bayesnb as nb

# %% [markdown]
# **The messages**, and their labels: notes of this file, or those of a collection.

# %%
NOTES = {
    "kitchen": """simmer the soup on low heat
        chop two onions and fry them in butter
        the bread dough must rise for an hour
        add salt and pepper to the soup
        bake the bread in a hot oven
        whisk eggs with sugar and flour
        boil the potatoes and mash them with butter
        slice the tomatoes for the salad
        the cake stays in the oven for forty minutes
        fry the fish in oil with garlic
        stir the sauce until it is thick
        roast the onions with salt and oil
        melt butter and sugar for the cake
        peel the apples and slice them for the pie
        the soup needs garlic and more pepper
        knead flour and water into a dough""",
    "garden": """plant the tulip bulbs in autumn
        water the tomatoes in the evening
        prune the apple tree before spring
        the roses need compost and water
        sow carrots in a row in dry soil
        pull the weeds between the roses
        rake the leaves under the apple tree
        dig compost into the soil before you plant
        cover the young plants against frost
        the seeds need warm soil and light
        cut the hedge after the birds have left
        plant beans along the fence in spring
        slugs ate the salad in the garden
        harvest the potatoes when the leaves are dry
        tie the tomatoes to a stick
        mow the grass and rake it""",
    "workshop": """sand the board before you paint it
        drill two holes into the board
        the saw needs a new blade
        tighten the screws with a spanner
        glue the joint and clamp it for an hour
        measure twice and cut the wood once
        oil the hinge of the door
        paint the fence with a wide brush
        the drill is out of charge
        hammer the nails into the shelf
        plane the edge until it is smooth
        fix the shelf to the wall with four screws
        sharpen the blade on a wet stone
        the varnish must dry for a day
        saw the plank along the line
        clean the brush with water after you paint""",
}


def read_messages(folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Texts and labels of the SMS collection, each message once."""
    lines = dict.fromkeys(Path(folder, "sms_spam.tsv").read_text(encoding="utf-8").splitlines())
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return np.array([html.unescape(text) for text in texts], dtype=object), np.array(labels)


MESSAGES = None  # or the folder of sms_spam.tsv
if MESSAGES:
    texts, y = read_messages(MESSAGES)
else:
    notes = [(text.strip(), label) for label, lines in NOTES.items() for text in lines.splitlines()]
    texts, y = np.array([text for text, _ in notes], dtype=object), np.array([label for _, label in notes])
print(f"{len(texts)} messages:", ", ".join(f"{(y == label).sum()} {label}" for label in np.unique(y)))

# %% [markdown]
# **A pipeline** from text to class probabilities. The counts stay sparse: no row is ever as wide as the vocabulary.


# %%
def pipeline(method: str, smoothing: float = 1.0) -> Pipeline:
    """Counts of words, and Naive Bayes on them; the class prior is uniform."""
    num_classes = len(np.unique(y))
    uniform = np.full(num_classes, 1 / num_classes)
    multinomial = nb.NaiveBayesClassifier("multinomial", method=method, smoothing=smoothing, class_prior=uniform)
    return make_pipeline(CountVectorizer(), multinomial)


exact = pipeline("posterior").fit(texts, y)
counts = exact[0].transform(texts)
print(f"{counts.shape[1]} words, {counts.nnz / counts.shape[0]:.1f} different ones a message, {type(counts).__name__}")

# %% [markdown]
# **What speaks for a class**: the words of largest mean contribution to its log odds, in nats a word of the row.

# %%
words = exact[0].get_feature_names_out()
strongest = nb.top_features(exact[-1].fit_, 5, class_names=exact.classes_, feature_names=words)
print(strongest)

# %% [markdown]
# **Plug-in and exact predictive** agree on one word. The more often it is repeated, the surer the plug-in becomes, by
# the same factor each time; the exact predictive counts each repetition for less.

# %%
plug_in = pipeline("map").fit(texts, y)
assert_allclose(plug_in.predict_log_proba(words), exact.predict_log_proba(words), atol=1e-9)
label = exact.classes_[-1]
word = strongest[label][0].name
for times in (1, 2, 4, 8):
    others = [np.exp(model.predict_log_proba([f"{word} " * times])[0, :-1]).sum() for model in (plug_in, exact)]
    print("1 - p({} | '{}' {} times): plug-in {:.1e}, exact {:.1e}".format(label, word, times, *others))

# %% [markdown]
# **Held-out messages**, one at a time and four of a class joined into a longer text. The log loss of both rules is
# that of the same splits, so their difference is paired. Where few messages train and texts are long, words repeat and
# the plug-in is too sure; elsewhere the two are nearly one.


# %%
def joined(texts: np.ndarray, y: np.ndarray, length: int) -> tuple[list[str], list[str]]:
    """Texts of so many messages of a class each, and their labels."""
    pairs = []
    for label in np.unique(y):
        own = texts[y == label]
        pairs += [(" ".join(own[i : i + length]), label) for i in range(0, len(own) - length + 1, length)]
    return [text for text, _ in pairs], [label for _, label in pairs]


num_splits = 10 if len(texts) < 1000 else 3
print(f"{'to train':>9}{'messages a text':>17}{'plug-in':>10}{'exact':>10}{'difference':>20}   (log loss, nats)")
for num_train in (len(texts) // 8, len(texts) // 2):
    losses: dict[int, list[list[float]]] = {1: [], 4: []}
    for seed in range(num_splits):
        train, test, y_train, y_test = train_test_split(texts, y, train_size=num_train, stratify=y, random_state=seed)
        models = [pipeline(method).fit(train, y_train) for method in ("map", "posterior")]
        for length, found in losses.items():
            longer, labels = joined(test, y_test, length)
            found.append([log_loss(labels, model.predict_proba(longer)) for model in models])
    for length, found in losses.items():
        mean, gain = np.mean(found, axis=0), -np.diff(found, axis=1)
        error = gain.std(ddof=1) / np.sqrt(num_splits)
        paired = f"{gain.mean():.4f} +- {error:.4f}"
        print(f"{num_train:9}{length:17}{mean[0]:10.4f}{mean[1]:10.4f}{paired:>20}")
