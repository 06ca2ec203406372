"""Trees for rows on many machines: `DaskTopKTreeClassifier`, with the extra `topktree[dask]`."""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f"topktree.dask needs Dask: pip install 'topktree[dask]' ({error})") from error

from .estimator import DaskTopKTreeClassifier

__all__ = ["DaskTopKTreeClassifier"]
