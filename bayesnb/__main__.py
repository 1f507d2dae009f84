"""The command line, also as ``python -m bayesnb``: without the extra ``studies`` it is a sentence that says so."""

from bayesnb.compute.arrays._extras import MissingExtra, needed_by


def main() -> None:
    """Run the command that was given."""
    try:
        with needed_by("the command bayesnb", "studies"):
            from bayesnb.studies.cli import main as run

            run()
    except MissingExtra as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
