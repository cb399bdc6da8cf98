"""`python -m mbench`."""

from mbench.cli import main

main()
