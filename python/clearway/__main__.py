"""Lets `python -m clearway` be the command."""

from clearway.start import main

main()
