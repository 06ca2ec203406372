"""The commands that the evidence adds to topktree's command line, and the option that they share."""

from functools import partial

import click

data_option = partial(click.option, "--data", metavar="DIR", type=click.Path(exists=True, file_okay=False))
