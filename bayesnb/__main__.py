"""``python -m bayesnb``: the command line."""

from bayesnb.studies.cli import main

main()
