"""Work that needs more memory than is available is refused before it starts, with an error that gives both sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.sparse

import bayesnb as nb
import bayesnb.sklearn as drop_in
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory

X, Y = np.arange(8.0).reshape(4, 2) ** 1.3, np.array([0, 1, 0, 1])
FAR = np.array([0, 1, 0, 10**9])
MANY = 10**12
LATE = np.where(np.arange(100_000) == 77_777, 10**9, 0)[:, None]
WORDS = scipy.sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 3000, 1, 2])), shape=(4, 1_000_000))
MODEL = nb.NaiveBayes(nb.Normal())
KEY = jax.random.key(0)


def posterior():
    return nb.fit_posterior(MODEL, X, Y)


def estimate():
    return nb.fit_map(MODEL, X, Y)


def draws():
    params = {site: np.stack([value] * 4) for site, value in estimate().params.items()}
    return nb.Draws(posterior().prior, params, {}, 1)


ASKED = {
    "intervals": lambda: posterior().predict_interval(X, key=KEY, num_draws=MANY),
    "intervals of draws": lambda: draws().predict_interval(X, key=KEY, num_draws=MANY),
    "intervals of contributions": lambda: posterior().contribution_interval(X, key=KEY, num_draws=MANY),
    "draws": lambda: posterior().sample(KEY, MANY),
    "nuts": lambda: nb.fit_nuts(MODEL, X, Y, key=KEY, num_samples=MANY),
    "hyperpriors": lambda: nb.fit_nuts(
        nb.NaiveBayes(nb.Bernoulli(dist.Gamma(2.0, 1.0))), X > 2, Y, key=KEY, num_samples=MANY
    ),
    "rows": lambda: posterior().generate(key=KEY, num_rows=MANY),
    "rows of an estimate": lambda: estimate().generate(key=KEY, num_rows=MANY),
    "data sets": lambda: posterior().generate(key=KEY, num_rows=4, num_datasets=MANY),
    "labels": lambda: nb.fit_posterior(MODEL, X, FAR),
    "labels of JAX": lambda: nb.fit_posterior(MODEL, jnp.asarray(X), jnp.asarray(FAR)),
    "labels left out": lambda: nb.leave_one_out(MODEL, X, FAR),
    "labels in folds": lambda: nb.cross_validate(MODEL, X, FAR, folds=2),
    "labels beside none": lambda: nb.fit_em(MODEL, X, np.array([0, -1, 0, 10**9])),
    "words of many classes": lambda: nb.fit_map(nb.NaiveBayes(nb.Multinomial(), num_classes=300_000), WORDS, Y),
    "declared classes": lambda: nb.stream(MODEL, [(X, Y)], num_classes=10**9),
    "categories": lambda: nb.fit_posterior(nb.NaiveBayes(nb.Categorical(10**9)), X.astype(int), Y),
    "codes of a few rows among many": lambda: drop_in.CategoricalNB().fit(LATE, np.arange(100_000) % 2),
    "pairs": lambda: nb.dependence(np.ones((4, 20_000)), Y),
}  # fmt: skip


@pytest.mark.parametrize("asked", ASKED)
def test_what_does_not_fit_is_refused_before_it_is_tried(asked, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 8 << 30)
    with pytest.raises(ValueError, match=r"would take at least [\d,.]+ [GT]iB of memory; 8 GiB is available: "):
        ASKED[asked]()


def test_words_of_many_classes_are_told_of_trees_of_labels(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 8 << 30)
    with pytest.raises(ValueError, match=r"classes of an upper level where labels are paths, which nb\.roll_up takes"):
        ASKED["words of many classes"]()


def test_scores_of_many_rows_are_refused(monkeypatch):
    fit = posterior()
    monkeypatch.setattr(memory, "available", lambda: limits.UNCHECKED_BYTES)
    with pytest.raises(ValueError, match="scores of 8,000,000 rows and 2 classes would take at least 122 MiB"):
        fit.predict_proba(np.ones((8_000_000, 2), np.float32))


def test_more_classes_than_labels_are_counted_with_are_refused():
    with pytest.raises(ValueError, match=f"at most {limits.MOST_CLASSES:,} are supported"):
        nb.fit_posterior(MODEL, X, np.array([0, 1, 0, 2**33]))


def test_dependence_asks_only_for_the_classes_that_are_there():
    found = nb.dependence(X, np.array([0, 10**9, 0, 10**9]))
    np.testing.assert_array_equal(found.log_bayes_factor, nb.dependence(X, Y).log_bayes_factor)


def test_what_is_small_does_not_ask_the_system(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: pytest.fail("asked"))
    memory.require(limits.UNCHECKED_BYTES, "it", "do less")
    posterior().predict_proba(X)


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: None)
    memory.require(1e18, "it", "do less")


MEMINFO = "MemTotal: 4000 kB\nMemAvailable: 1000 kB\nSwapFree: 24 kB\nHugePages_Total: 0\n"


def test_what_is_there_is_the_least_that_system_and_group_say(tmp_path, monkeypatch):
    system, group = tmp_path / "meminfo", tmp_path / "group"
    monkeypatch.setattr(memory, "SYSTEM", system)
    monkeypatch.setattr(memory, "GROUPS", (group, tmp_path / "none"))
    system.write_text(MEMINFO)
    assert memory.available() == 1024 << 10
    group.mkdir()
    for limit, used, inactive in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        for name, text in ((limit, "1000"), (used, "900"), ("memory.stat", f"anon 5\n{inactive} 30\n")):
            (group / name).write_text(text)
        assert memory.available() == 130
        (group / limit).unlink()
    (group / "memory.max").write_text("max")
    assert memory.available() == 1024 << 10
    system.unlink()
    assert memory.available() is None or memory.available() > 1 << 20  # all that there is


def test_sizes_are_said_in_the_largest_unit():
    said = [memory.in_words(number) for number in (10, 3 << 19, 8 << 30, 131 << 40, 5 << 60)]
    assert said == ["10 bytes", "1.5 MiB", "8 GiB", "131 TiB", "5,242,880 TiB"]
