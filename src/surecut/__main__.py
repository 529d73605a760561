"""`python -m surecut` is the command line."""

from surecut.cli import main

main()
