"""`clearway demo`: the main job, what `make run` runs."""

import click


@click.command()
def demo() -> None:
    """Demo."""
