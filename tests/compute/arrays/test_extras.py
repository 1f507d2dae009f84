"""What needs a package that is not installed says which extra brings it."""

import pytest

from bayesnb.compute.arrays._extras import EXTRAS, needed_by


def missing(name):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_the_extra_is_named(package, extra):
    with pytest.raises(ModuleNotFoundError, match=rf"^frames needs {package}: pip install 'bayesnb\[{extra}\]'$"):
        with needed_by("frames"):
            missing(package)
    with pytest.raises(ModuleNotFoundError, match="^frames needs all of it: pip"), needed_by("frames", "all of it"):
        missing(f"{package}.part")


def test_other_packages_and_what_was_said_already_stay():
    with pytest.raises(ModuleNotFoundError, match="^No module named 'bayesnb.gone'$"), needed_by("frames"):
        missing("bayesnb.gone")
    with pytest.raises(ModuleNotFoundError, match="^frames needs pandas: "), needed_by("a door"):
        with needed_by("frames"):
            missing("pandas")
