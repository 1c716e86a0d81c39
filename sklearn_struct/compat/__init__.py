"""Other libraries' interfaces on this package's models: `CRF` and `metrics` stand in for those of sklearn-crfsuite."""

from sklearn_struct.compat import metrics
from sklearn_struct.compat.crf import CRF

__all__ = ["CRF", "metrics"]
