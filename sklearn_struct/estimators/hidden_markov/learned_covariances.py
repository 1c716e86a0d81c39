"""Covariances that a hidden Markov model learned, or that somebody put into their place."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._whole_fits import Published
from sklearn_struct.hidden_markov.autoregression import Autoregressive
from sklearn_struct.hidden_markov.gaussians import Gaussians, covariance_shape
from sklearn_struct.hidden_markov.mixtures import Mixtures, mixture_shape

__all__ = ["BaseCovariances", "check_coefficients", "check_covariances", "check_weights"]


class BaseCovariances(Published):
    """``means_`` and ``covariances_`` as normal distributions, and ``variances_`` of them.

    Where ``means_`` has three dimensions, labels have mixtures, with weights ``mixture_logprob_``.
    Means may depend on tokens before, by ``autoregression_``.
    """

    means_: np.ndarray
    covariances_: np.ndarray
    mixture_logprob_: np.ndarray
    autoregression_: np.ndarray
    # the type of covariances that was learned; the parameter may have changed since
    _covariance_type = "diag"

    @property
    def _lags(self) -> int:
        """How many tokens before the means depend on."""
        coefficient = vars(self).get("autoregression_")
        return 0 if coefficient is None else np.shape(coefficient)[1]

    def _gaussians(self) -> Gaussians | Mixtures | Autoregressive:
        """The learned attributes, checked."""
        means = np.asarray(self.means_, np.float64)
        if not np.all(np.isfinite(means)):
            raise ValueError("means_ must be finite numbers")
        covariances = np.asarray(self.covariances_, np.float64)
        kind = self._covariance_type
        check_covariances(covariances, kind, means.shape)
        if self._lags:
            coefficient = check_coefficients(self.autoregression_, means.shape)
            return Autoregressive(coefficient, Gaussians(means, covariances, kind))
        if means.ndim == 2:
            return Gaussians(means, covariances, kind)
        K, M, d = means.shape
        log_weight = check_weights(self.mixture_logprob_, (K, M))
        if kind == "tied":
            covariances = np.repeat(covariances, M, axis=0)
        alone = "full" if kind == "tied" else kind
        flat = covariances.reshape(covariance_shape(alone, K * M, d))
        components = Gaussians(means.reshape(-1, d), flat, alone)
        return Mixtures(log_weight, components, kind)

    @property
    def variances_(self) -> np.ndarray:
        """The variance of each state and numeric stream.

        If `covariances_` has these variances, this is the same array. Else it is read-only.
        """
        check_is_fitted(self, "covariances_")
        if self._covariance_type == "diag":
            return self.covariances_
        return self._gaussians().variance

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
    K, *components, d = shape
    wanted = mixture_shape(kind, *shape) if components else covariance_shape(kind, K, d)
    if covariances.shape != wanted:
        mixed = f"n_mixtures={components[0]}, " if components else ""
        raise ValueError(
            f"covariances_ has the shape {covariances.shape}; for covariance_type={kind!r}, "
            f"{mixed}{K} labels and {d} numeric streams it must be {wanted}"
        )
    if not np.all(np.isfinite(covariances)):
        raise ValueError("covariances_ must be finite numbers")
    if kind in ("diag", "spherical"):
        # without columns, the one variance of a label is that of nothing
        if d and np.any(covariances <= 0):
            raise ValueError("covariances_ must be positive: they are variances")
        return
    for place in np.ndindex(wanted[:-2]):
        matrix = covariances[place]
        name = f"covariances_[{', '.join(map(str, place))}]" if place else "covariances_"
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


def check_weights(of_labels: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Raise ValueError unless they are the logarithms of weights of components."""
    log_weight: np.ndarray = np.asarray(of_labels, np.float64)
    if log_weight.shape != shape:
        raise ValueError(
            f"mixture_logprob_ has the shape {log_weight.shape}; for {shape[0]} labels and "
            f"n_mixtures={shape[1]} it must be {shape}"
        )
    # exp of what is not much above 0 does not overflow; nan fails here, too
    if not (np.all(log_weight < 1) and np.all(np.abs(np.exp(log_weight).sum(axis=1) - 1) < 1e-6)):
        raise ValueError("mixture_logprob_ must be logarithms of weights that sum to 1 in each row")
    return log_weight


def check_coefficients(of_labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Raise ValueError unless they are those of regressions of labels with means of this shape."""
    coefficient: np.ndarray = np.asarray(of_labels, np.float64)
    K, *_, d = shape
    if coefficient.ndim != 4 or coefficient.shape != (K, coefficient.shape[1], d, d):
        raise ValueError(
            f"autoregression_ has the shape {coefficient.shape}; for {K} labels and {d} numeric "
            f"streams it must be ({K}, p, {d}, {d})"
        )
    if len(shape) > 2:
        raise ValueError("means_ must have two dimensions where there is an autoregression_")
    if not np.all(np.isfinite(coefficient)):
        raise ValueError("autoregression_ must be finite numbers")
    return coefficient
