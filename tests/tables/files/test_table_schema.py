"""Parts of a table, described and counted apart: any split, any order, any merge gives one fit."""

import io

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files import _table_schema as table_schema
from bayesnb.tables.files._table_schema import describe_table, no_rows
from tests import cases
from tests.tables.files.streams import assert_same

ROWS = 240


def frame(rows=ROWS, seed=3):
    rng = np.random.default_rng(seed)
    label = rng.choice(["bee", "ant", "fly"], rows, p=[0.5, 0.4, 0.1])
    size = rng.normal(size=rows) + (label == "bee")
    size[rng.random(rows) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "mass": rng.gamma(2.0, size=rows),
            "colour": np.where(rng.random(rows) < 0.5, label, rng.choice(["red", "blue", None], rows)),
            "legs": rng.poisson(4.0, rows),
            "wings": rng.random(rows) < 0.4,
            "kind": label,
        }
    )


X = frame().drop(columns="kind")


def split(rows, seed):
    """Parts of any size, some empty, in any order, in any library."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    parts = np.split(order, np.sort(rng.integers(0, len(rows), 4)))
    kinds = [lambda part: part, pl.from_pandas, lambda part: pa.Table.from_pandas(part, preserve_index=False)]
    return [kinds[rng.integers(3)](rows.iloc[part].reset_index(drop=True)) for part in parts]


def schema_of(parts, **options):
    return nb.merge(*[describe_table(part, "kind", **options) for part in parts])


def counted(schema, parts):
    return nb.merge(*[schema.count(part) for part in parts])


@pytest.mark.parametrize("options", [{}, {"temper": False}, {"method": "map"}, {"temper": True}])
def test_the_fit_of_parts_is_that_of_the_table(options):
    parts = split(frame(), 0)
    schema = schema_of(parts)
    found = nb.fit_table(schema, statistics=counted(schema, parts), **options)
    wanted = nb.NaiveBayesClassifier(**options).fit(X, frame()["kind"])
    assert dict(found.likelihoods_) == dict(wanted.likelihoods_)
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-8)
    assert found.statistics_.schema is None
    if options == {"temper": False}:
        more = frame(40, seed=4)
        assert found.partial_fit(more.drop(columns="kind"), more["kind"]).class_count_.sum() == 280


@pytest.mark.parametrize("most", [limits.KEPT_ROWS, 30], ids=["all rows", "a sample"])
def test_any_split_in_any_order_gives_the_same(most, monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", most)
    monkeypatch.setattr(limits, "EDGE_ROWS", most)
    whole = describe_table(frame(), "kind")
    total, fit = whole.count(frame()), nb.fit_table(whole, statistics=whole.count(frame()))
    for seed in range(3):
        parts = split(frame(), seed)
        schema = schema_of(parts)
        assert schema.key == whole.key
        assert_same(counted(schema, parts), total)
        found = nb.fit_table(schema, statistics=counted(schema, parts))
        # the order of the sums decides the last digits, and the search for powers ends where little is to gain
        assert_allclose(found.predict_proba(X), fit.predict_proba(X), rtol=1e-7)


def test_a_tree_of_merges_and_keys_in_any_order():
    parts = split(frame(), 1)
    described = [describe_table(part, "kind") for part in parts]
    schema = nb.merge(nb.merge(*described[3:]), nb.merge(*described[:3]))
    assert schema.key == nb.merge(*described).key
    found = {f"part {i}": schema.count(part) for i, part in enumerate(parts)}
    total = nb.merge(found)
    jax.tree.map(assert_array_equal, nb.merge(dict(reversed(found.items()))), total)
    two = ({f"part {key}": found[f"part {key}"] for key in keys} for keys in ([3, 0], [2, 4, 1]))
    jax.tree.map(assert_array_equal, nb.merge(*two), total)
    with pytest.raises(ValueError, match="the part 'part 0' comes twice"):
        nb.merge(found, {"part 0": found["part 0"]})
    with pytest.raises(ValueError, match="parts, or dicts of parts by key, got both"):
        nb.merge(found, found["part 0"])
    tree = nb.merge(nb.merge(no_rows(schema), *found.values()), no_rows(schema))
    assert_same(tree, total)


def test_weights_count_and_rows_without_are_not_there():
    weighted = frame().assign(weight=np.arange(ROWS) % 3)
    weighted.loc[weighted["weight"] == 0, "kind"] = "no class"
    parts = split(weighted, 2)
    schema = schema_of(parts, weight="weight")
    found = nb.fit_table(schema, statistics=counted(schema, parts))
    wanted = nb.NaiveBayesClassifier().fit(X, frame()["kind"], weighted["weight"])
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-8)
    with pytest.raises(ValueError, match="'kind' has nothing in it in rows whose weight, 'weight', is above zero"):
        nb.fit_table(weighted.assign(weight=0), "kind", weight="weight")


def test_categories_and_classes_that_only_one_part_has():
    parts = [rows for _, rows in frame().groupby("kind")]
    schema = schema_of(parts)
    assert schema.description.classes == ("ant", "bee", "fly")
    found = nb.fit_table(schema, statistics=counted(schema, parts), temper=False)
    wanted = nb.NaiveBayesClassifier(temper=False).fit(X, frame()["kind"])
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-9)


def test_chosen_likelihoods_of_many_kinds():
    chosen = {"legs": "poisson", "size": "histogram", "mass": nb.Normal(), "colour": "categorical"}
    parts = split(frame(), 5)
    schema = schema_of(parts, likelihoods=chosen)
    found = nb.fit_table(schema, statistics=counted(schema, parts), temper=False)
    wanted = nb.NaiveBayesClassifier(chosen, temper=False).fit(X, frame()["kind"])
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-9)
    words = [pd.DataFrame({"text": texts, "kind": [*"ab"]}) for texts in (["a good day", "bad"], ["bad day", None])]
    schema = schema_of(words, likelihoods={"text": "words"})
    found = nb.fit_table(schema, statistics=counted(schema, words), temper=False)
    wanted = nb.fit_table(words, "kind", {"text": "words"}, temper=False)
    texts = words[0][["text"]]
    assert_allclose(found.predict_proba(texts), wanted.predict_proba(texts), rtol=1e-9)


def test_parts_without_rows():
    schema = nb.merge(describe_table(frame()[:0], "kind"), describe_table(frame(), "kind"))
    assert_same(schema.count(frame()[:0]), no_rows(schema))
    assert_same(nb.merge(schema.count(frame()), schema.count(pl.from_pandas(frame()[:0]))), schema.count(frame()))
    with pytest.warns(UserWarning, match="the schema describes 240 rows, and the statistics count 0"):
        prior = nb.fit_table(schema, statistics=no_rows(schema), method="posterior")
    assert_allclose(prior.predict_proba(X[:1]), np.full((1, 3), 1 / 3))
    with pytest.raises(ValueError, match="the target 'kind' has nothing in it"):
        no_rows(describe_table(frame()[:0], "kind"))


def test_a_stream_that_is_read_once_may_have_any_size(monkeypatch):
    monkeypatch.setattr(limits, "KEPT_BYTES", 0)
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    schema = describe_table(table.to_reader(50), "kind")
    assert_same(schema.count(table.to_reader(50)), schema.count(frame()))


# what does not fit


def change(**columns):
    return frame().assign(**columns)


@pytest.mark.parametrize(
    ("part", "options", "message"),
    [
        (frame().drop(columns="legs"), {}, "the parts differ in columns, 'legs'"),
        (frame(), {"likelihoods": {"legs": "poisson"}}, "another target, weight or likelihoods"),
        (change(legs="four"), {}, "column 'legs' is text, .* in one part and numbers in another"),
    ],
)  # fmt: skip
def test_schemas_that_differ(part, options, message):
    with pytest.raises(ValueError, match=message):
        nb.merge(describe_table(frame(), "kind"), describe_table(part, "kind", **options))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (change(colour=["green" if i == 7 else "red" for i in range(ROWS)]),
         "the data frame, row 8: column 'colour' holds 'green', which is not in the schema: describe this part too"),
        (change(kind=["wasp" if i == 9 else "ant" for i in range(ROWS)]), "row 10: column 'kind' holds 'wasp', which"),
        (change(legs="four"), "row 1: column 'legs' holds text, 'four'"),
        (frame().drop(columns="legs"), "the data frame has no column 'legs'"),
        (change(size=np.inf), "row 1: column 'size' holds an infinite number"),
    ],
)  # fmt: skip
def test_parts_that_were_not_described(part, message):
    with pytest.raises(nb.StreamError, match=message):
        describe_table(frame(), "kind").count(part, progress_bar=False)


def test_statistics_of_another_schema():
    schema, other = describe_table(frame(), "kind"), describe_table(frame()[:100], "kind")
    with pytest.raises(ValueError, match="can be merged only if they were counted under the same schema"):
        nb.merge(schema.count(frame()), other.count(frame()[:100]))
    with pytest.raises(ValueError, match=r"must be counted under this schema, .* got those of another schema"):
        nb.fit_table(schema, statistics=other.count(frame()[:100]))
    with pytest.raises(ValueError, match=r"must be counted under this schema, .* got NoneType"):
        nb.fit_table(schema)
    with pytest.raises(ValueError, match="a schema has its target, likelihoods, weight and flags"):
        nb.fit_table(schema, "kind", statistics=schema.count(frame()))
    with pytest.raises(ValueError, match="statistics go with a schema"):
        nb.fit_table(frame(), "kind", statistics=schema.count(frame()))
    with pytest.raises(ValueError, match="all of one kind, got a TableSchema and a ModelStatistics"):
        nb.merge(schema, schema.count(frame()))
    with pytest.warns(UserWarning, match="the schema describes 240 rows, and the statistics count 480"):
        nb.fit_table(schema, statistics=nb.merge(schema.count(frame()), schema.count(frame())), temper=False)


@pytest.mark.parametrize("name", ["bernoulli", "ragged", "multinomial", "normal", "covariance", "binomial"])
def test_no_rows_are_the_neutral_statistics(name):
    case = cases.make(name)
    total = nb.sufficient_statistics(case.model, case.X, case.y)
    model = nb.fit_posterior(case.model, case.X, case.y).prior
    assert_same(nb.merge(no_rows(model), total), total)


def test_no_rows_of_a_model_that_does_not_say_its_columns():
    with pytest.raises(ValueError, match=r"the number of columns of block 'x' is unknown: give model.resolve"):
        no_rows(nb.NaiveBayes(nb.Normal(), num_classes=2))
    with pytest.raises(ValueError, match="the number of classes must be declared"):
        no_rows(nb.NaiveBayes(nb.Categorical((2, 3))))
    assert no_rows(nb.NaiveBayes(nb.Categorical((2, 3)), num_classes=2)).blocks["x"].counts.shape == (2, 5)


# bytes


def sent(one):
    return type(one).from_bytes(one.to_bytes())


def test_schemas_and_statistics_travel():
    chosen = {"legs": "poisson", "mass": nb.Normal(), "colour": "categorical"}
    parts = [*split(frame(), 6), frame()[:0]]
    described = [sent(describe_table(part, "kind", chosen)) for part in parts]
    schema = sent(nb.merge(*described))
    assert schema.key == schema_of(parts, likelihoods=chosen).key
    assert schema.sample.rows.equals(sent(schema).sample.rows)
    total = nb.merge({i: sent(schema.count(part)) for i, part in enumerate(parts)})
    jax.tree.map(assert_array_equal, sent(total), total)
    assert (sent(total).schema, sent(total).classes) == (schema.key, ("ant", "bee", "fly"))
    found = nb.fit_table(schema, statistics=total)
    wanted = nb.NaiveBayesClassifier(chosen, missing=None).fit(X, frame()["kind"])
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("values", [["a", "b"] * 3, [True, False] * 3, [1, 2] * 3, [None] * 6, ["2020-01-01"] * 6,
                                    [1.5, None] * 3, [*"abcdef"], [2**53 + 1] * 6])  # fmt: skip
def test_columns_of_every_kind_travel(values):
    part = pd.DataFrame({"x": values, "z": range(6), "kind": [*"ababab"]})
    here, there = describe_table(part, "kind"), sent(describe_table(part, "kind"))
    both = nb.merge(here, there)
    for name, one in both.summaries.items():
        two = nb.merge(there, here).summaries[name]
        assert (one.num_cells, one.distinct, one.text, one.dates, one.span) == (
            two.num_cells, two.distinct, two.text, two.dates, two.span)  # fmt: skip
    assert there.merge(here).key == both.key


def test_words_travel():
    part = pd.DataFrame({"text": ["a good day", "bad"] * 2, "kind": [*"abab"]})
    schema = describe_table(part, "kind", {"text": "words"})
    assert sent(schema).key == schema.key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "is damaged, or was not written by"),
        (lambda content: content[:-9] + b"x" + content[-8:], "its contents have changed since it was written"),
        (lambda _: b"", "is empty"),
        (lambda _: no_rows(nb.NaiveBayes(nb.Categorical((2, 3)), num_classes=2)).to_bytes(),
         "has the format 'bayesnb result 2' .* give a file that TableSchema.to_bytes wrote"),
    ],
)  # fmt: skip
def test_bytes_of_something_else(change, message):
    schema = describe_table(frame()[:20], "kind")
    with pytest.raises(nb.StorageError, match=message):
        type(schema).from_bytes(change(schema.to_bytes()))


def test_bytes_of_a_later_version(monkeypatch):
    schema = describe_table(frame()[:20], "kind")
    with monkeypatch.context() as changed:
        changed.setattr(table_schema, "VERSION", 2)
        content = schema.to_bytes()
    with pytest.raises(nb.StorageError, match=r"has the format 'bayesnb schema 2' and this version .*: update bayesnb"):
        type(schema).from_bytes(content)


def test_statistics_of_something_else():
    with pytest.raises(nb.StorageError, match="has the format 'bayesnb schema 1'"):
        nb.ModelStatistics.from_bytes(describe_table(frame()[:20], "kind").to_bytes())
    model = cases.make("normal").model
    file = io.BytesIO()
    nb.save(model, file)
    with pytest.raises(nb.StorageError, match="the content is a NaiveBayes, expected ModelStatistics"):
        nb.ModelStatistics.from_bytes(file.getvalue())
    with pytest.raises(nb.StorageError, match="expected a path, bytes, or a file open for reading"):
        nb.ModelStatistics.from_bytes(3)
    with pytest.raises(
        nb.StorageError, match=r"these bytes are no statistics that to_bytes gave: .*not a bayesnb file$"
    ):
        nb.ModelStatistics.from_bytes(b"hello")
