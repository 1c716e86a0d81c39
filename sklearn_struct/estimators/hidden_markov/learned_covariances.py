"""Covariances that a hidden Markov model learned, or that somebody put into their place."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._whole_fits import Published
from sklearn_struct.hidden_markov.gaussians import Gaussians, covariance_shape

__all__ = ["BaseCovariances", "check_covariances"]


class BaseCovariances(Published):
    """``means_`` and ``covariances_`` as normal distributions, and ``variances_`` of them."""

    means_: np.ndarray
    covariances_: np.ndarray
    # the type of covariances that was learned; the parameter may have changed since
    _covariance_type = "diag"

    def _gaussians(self) -> Gaussians:
        """The learned attributes, checked."""
        means = np.asarray(self.means_, np.float64)
        covariances = np.asarray(self.covariances_, np.float64)
        check_covariances(covariances, self._covariance_type, means.shape)
        return Gaussians(means, covariances, self._covariance_type)

    @property
    def variances_(self) -> np.ndarray:
        """The variance of each state and numeric stream.

        If `covariances_` has these variances, this is the same array. Else it is read-only.
        """
        check_is_fitted(self, "covariances_")
        if self._covariance_type == "diag":
            return self.covariances_
        variances = self._gaussians().variance
        variances.flags.writeable = False
        return variances

    @variances_.setter
    def variances_(self, variances: np.ndarray) -> None:
        if self._covariance_type != "diag":
            raise AttributeError(
                f"with covariance_type={self._covariance_type!r}, variances_ is computed from "
                "covariances_; set covariances_"
            )
        self.covariances_ = variances


def check_covariances(covariances: np.ndarray, kind: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless they are those of normal distributions with means of this shape."""
    K, d = shape
    wanted = covariance_shape(kind, K, d)
    if covariances.shape != wanted:
        raise ValueError(
            f"covariances_ has the shape {covariances.shape}; for covariance_type={kind!r}, {K} "
            f"labels and {d} numeric streams it must be {wanted}"
        )
    if not np.all(np.isfinite(covariances)):
        raise ValueError("covariances_ must be finite numbers")
    if kind in ("diag", "spherical"):
        if np.any(covariances <= 0):
            raise ValueError("covariances_ must be positive: they are variances")
        return
    for k, matrix in enumerate(covariances.reshape(-1, d, d)):
        name = f"covariances_[{k}]" if kind == "full" else "covariances_"
        # roundings of whoever computed it are no mistake
        scale = np.sqrt(np.abs(np.diagonal(matrix)))
        if np.any(np.abs(matrix - matrix.T) > 1e-8 * scale[:, None] * scale):
            raise ValueError(f"{name} must be a symmetric matrix")
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"{name} is not positive definite: all its eigenvalues must be positive"
            ) from error
