"""Lets `python -m clearway` be the command."""

from clearway.command import main

main()
