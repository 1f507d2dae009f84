"""A schema read from a file is one that fitting could have made, or it is refused by the part that is wrong."""

from dataclasses import replace

import pytest

from bayesnb.files.storage._saved_estimators import check_schema
from bayesnb.frames._blocks import BlocksSchema
from bayesnb.frames._columns import Column
from bayesnb.frames._schema import Schema

OF_FRAME = Schema((Column("a", "categorical", (1.0, 2.0)), Column("b", "categorical", ("u", "v"), True)))
OF_CODES = Schema((Column("", "categorical", range(4)),) * 3, named=False)
OF_NUMBERS = Schema((Column("", "normal", width=3),), named=False)
PARTS = {"one": replace(OF_NUMBERS, prefix="one"), "two": replace(OF_CODES, prefix="two")}
OF_BLOCKS = BlocksSchema(PARTS)


def with_column(schema, **changes):
    first, *others = schema.columns
    return replace(schema, columns=(replace(first, **changes), *others))


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (with_column(OF_FRAME, width=2), "width of column 'a' must be a number of columns of an array, got 2"),
        (with_column(OF_FRAME, values=(2.0, 1.0)), "values of column 'a' must be different, and in order"),
        (with_column(OF_FRAME, name="b"), "columns of the schema must have different names"),
        (with_column(OF_FRAME, kind="own"), "must have the vectorizer or the family of its kind"),
        (replace(OF_FRAME, columns=(Column("a", "skip"),)), "columns of the schema must not all be left out"),
        (with_column(OF_CODES, values=(0, 1)), "values of a column of an array must be codes 0, 1, ..."),
        (with_column(OF_CODES, values=range(0)), "values of a column of an array must be codes 0, 1, ..."),
        (with_column(OF_CODES, width=2), "width of column '' must be a number of columns of an array, got 2"),
        (with_column(OF_NUMBERS, width=0), "width of column '' must be a number of columns of an array, got 0"),
        (with_column(OF_NUMBERS, width=1 << 40), "width of column '' must be a number of columns of an array"),
        (BlocksSchema({"one": with_column(PARTS["one"], width=0)}), "must be a number of columns of an array, got 0"),
        (BlocksSchema({"other": PARTS["one"]}), "part 'other' of the schema must have its name, got 'one'"),
    ],
)  # fmt: skip
def test_a_schema_that_no_fit_makes_is_refused(schema, sentence):
    with pytest.raises(ValueError) as error:
        check_schema(schema)
    assert sentence in str(error.value)


@pytest.mark.parametrize("schema", [OF_FRAME, OF_CODES, OF_NUMBERS, OF_BLOCKS])
def test_a_schema_that_fits_make_is_accepted(schema):
    check_schema(schema)
