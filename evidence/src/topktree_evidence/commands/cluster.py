"""The option --dask: the cluster whose workers make a command's runs.

In: the address of a scheduler. Out: a `with` block in which joblib's calls go there; or a `Mistake`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click
import joblib

from topktree._cli.common import Decorator, Mistake

PATIENCE = 10.0  # seconds for the scheduler to answer


def dask_option() -> Decorator:
    """Return the option --dask."""
    return click.option(
        "--dask",
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster: the runs, but for timing figures, go to its workers, whatever --jobs is.",
    )


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Send calls to the workers of the scheduler at that address; without an address nothing changes."""
    if address is None:
        yield
        return
    if find_spec("distributed") is None:
        raise Mistake(f"--dask {address}: needs Dask: pip install 'topktree[dask]'")
    distributed = import_module("distributed")
    try:
        asyncio.run(_reach(distributed, address))
        client: Any = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:
        raise Mistake(f"--dask {address}: must be the address of a Dask scheduler that runs: {error}") from None
    with client, joblib.parallel_config(backend="dask", client=client):
        try:
            joblib.effective_n_jobs()
        except TimeoutError:
            raise Mistake(f"--dask {address}: the scheduler has no workers") from None
        yield


async def _reach(distributed: Any, address: str) -> None:
    """Connect, without a client: one that cannot connect stays half open, and the next one may wait for it forever."""
    security = distributed.Security().get_connection_args("client")
    comm = await distributed.comm.connect(address, timeout=PATIENCE, **security)
    comm.abort()
