"""Fits on data that lie in partitions: in files, or, by `sklearn_struct.dask`, on many machines."""

from __future__ import annotations

from sklearn_struct.distributed.files import FileShards
from sklearn_struct.distributed.fitting import fit_partitions

__all__ = ["FileShards", "fit_partitions"]
