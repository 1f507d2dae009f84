"""The command line, also as ``python -m bayesnb``: without the extra ``studies`` it is a sentence that says so."""

import atexit
import gc
import sys

from bayesnb.compute.arrays._extras import MissingExtra, needed_by


def main() -> None:
    """Run the command that was given."""
    gc.set_threshold(20_000, 50)  # of imports and traces little is garbage: a look at each 700 new objects takes .7 s
    atexit.register(gc.freeze)  # nor is it worth .7 s to look at all of them once more before the process ends
    try:
        with needed_by("the command bayesnb", "studies"):
            from bayesnb.studies.cli import main as run

            run()
    except MissingExtra as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:  # before the commands were loaded, which say it themselves
        print("\nbayesnb: stopped; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
