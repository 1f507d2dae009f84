"""Texts as a vectorizer counts them: its own matrix, whose words come in no order and whose counts are int64."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from tests.benchmarks.workloads import Array

TOKENS = 245
"""Words of a text, on average."""

OWN = 0.2
"""The share of the words that tell the class."""

MESSAGES = 250_000
"""Rows at least: the messages are repeated."""


@cache
def newsgroups(num_rows: int, num_words: int, num_classes: int) -> tuple[Any, Array]:
    """Texts of 20 newsgroups' shape, strings through a vectorizer; few words are frequent and most are rare (Zipf)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    lengths = np.maximum(rng.lognormal(np.log(TOKENS) - 0.4, 0.9, num_rows).astype(int), 5)
    of_token = np.repeat(y, lengths)
    # the share of the word of rank r falls as 1 / r, and somewhat faster among the rare
    rank = np.exp(rng.random(of_token.size) ** 1.15 * np.log(num_words)).astype(int)
    own = rng.random(of_token.size) < OWN
    rank = np.where(own, rank * num_classes + of_token, rank) % num_words
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(word) for word in rng.choice(letters, (num_words, 8))])
    texts = [" ".join(of_text) for of_text in np.split(words[rank], np.cumsum(lengths)[:-1])]
    return CountVectorizer().fit_transform(texts), y


@cache
def messages() -> tuple[Any, Array] | None:
    """The SMS collection of ``BAYESNB_DATA`` repeated, or None where the variable is not set."""
    folder = os.environ.get("BAYESNB_DATA")
    if not folder:
        return None
    lines = Path(folder, "sms_spam.tsv").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    times = -(-MESSAGES // len(texts))
    return CountVectorizer().fit_transform(texts * times), np.tile(np.array(labels) == "spam", times).astype(int)
