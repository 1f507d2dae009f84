"""What needs a package that is not installed says which extra brings it."""

import pytest

from bayesnb.compute.arrays._extras import EXTRAS, NEEDS, MissingExtra, needed_by


def sentence(missing, *needs):
    with pytest.raises(ModuleNotFoundError) as found, needed_by(*needs):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
    return str(found.value)


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_the_extra_is_named(package, extra):
    assert sentence(package, "frames") == f"frames needs {package}: pip install 'bayesnb[{extra}]'"
    for wing, packages in NEEDS.items():
        assert sentence(f"{package}.part", "it", wing) == f"it needs {packages}: pip install 'bayesnb[{wing}]'"


def test_what_no_extra_brings_and_what_was_said_already_stay():
    assert sentence("bayesnb.gone", "frames") == "No module named 'bayesnb.gone'"
    assert sentence("pandas", "fit_posterior", "core") == "No module named 'pandas'"  # a fault of ours, not an extra
    with pytest.raises(MissingExtra, match=r"^frames needs pandas: "), needed_by("a door"), needed_by("frames"):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
