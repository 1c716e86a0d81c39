"""Fits on data that lie on the workers of a Dask cluster. No other room needs dask."""

from __future__ import annotations

try:
    from sklearn_struct.dask.distributed_estimator import Distributed
except ImportError as error:
    if str(error.name).split(".")[0] not in {"dask", "distributed"}:
        raise
    raise ImportError(
        'sklearn_struct.dask needs dask and distributed: pip install "sklearn-struct[dask]"',
        name=error.name,
    ) from error

__all__ = ["Distributed"]
