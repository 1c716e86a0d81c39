"""What `explain` returns: the score of a labelling, token by token and feature by feature."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_struct.inspection.optional_imports import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["KINDS", "Explanation", "Terms"]

KINDS = (
    "feature",
    "intercept",
    "transition",
    "edge feature",
    "second transition",
    "base",
    "base transition",
)
# kinds of terms with a label before
STEPS = ("transition", "edge feature", "second transition", "base transition")
SHOWN = 3  # contributions of a token in the printed form


class Terms(NamedTuple):
    """The terms of a score, ordered by token and kind, a place in `KINDS`.

    Terms of intercepts, transitions and the base have None as their feature.
    """

    token: np.ndarray
    kind: np.ndarray
    feature: np.ndarray
    value: np.ndarray
    weight: np.ndarray


class Explanation:
    """The score of a labelling of one sequence, split into contributions; made by `explain`.

    A contribution is the value of a feature times its weight (intercepts and transitions have the
    value 1). The contributions of a token add up to its score, and those of all tokens to the score
    of the labelling, which is log p(y | x) + log Z(x). A transition belongs to the last of its
    tokens; one of three labels is a "second transition". The weight of an edge feature is that of
    its pair of labels; at order 2, that of its three labels is added. With a rival labelling all
    scores and weights are differences: those of the labelling minus those of the rival.

    A model over a base distribution, such as `MEstimatedCRF`, has two more kinds: "base" is log q0
    of a token with its label, "base transition" is log q0 of the step into it. The start belongs to
    the first token, the end to the last one. The constant and the weights of inputs are the same
    for all labellings and are left out; with them the score would be ``log_joint``. For a sequence
    that the base cannot emit, the contributions are those with which `predict` works.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    texts : list of str
        What the tokens are called where the explanation is printed.
    labels : list
        The labelling.
    rival : list or None
        The labelling that it is compared with.
    terms : Terms
        Token, kind, feature, value and weight of each contribution.

    Attributes
    ----------
    score : float
        Sum of all contributions.
    token_scores : ndarray of shape (n_tokens,)
        Sums of the contributions of each token.
    contributions : ndarray of shape (n_terms,)
    labels, rival, texts, terms
        As given.

    See Also
    --------
    explain : Makes it.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import explain
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> explanation = explain(crf, ["a", "cat"])
    >>> explanation.labels
    ['DET', 'NOUN']
    >>> bool(abs(explanation.token_scores.sum() - explanation.score) < 1e-9)
    True
    """

    def __init__(
        self, texts: list[str], labels: list[Any], rival: list[Any] | None, terms: Terms
    ) -> None:
        self.texts = texts
        self.labels = labels
        self.rival = rival
        self.terms = terms
        self.contributions = terms.value * terms.weight
        self.token_scores = np.bincount(
            terms.token, weights=self.contributions, minlength=len(labels)
        )
        # a base may give probability 0 to both labellings: their ratio is NaN
        with np.errstate(invalid="ignore"):
            self.score = float(np.sum(self.token_scores))

    def to_frame(self) -> DataFrame:
        """All contributions as a data frame, one a row.

        Returns
        -------
        pandas.DataFrame
            Columns ``token`` (its number), ``label``, ``previous`` (the label before; only of
            transitions and edge features), ``kind`` ("feature", "intercept", "transition", "edge
            feature", "second transition", "base" or "base transition"), ``feature`` (its name),
            ``value``, ``weight`` and ``contribution``. With a rival also ``rival`` and
            ``rival_previous``, its labels.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pd = pandas("Explanation.to_frame")
        terms = self.terms
        frame = {"token": terms.token, **self._label_columns(pd, self.labels, "label", "previous")}
        if self.rival is not None:
            frame |= self._label_columns(pd, self.rival, "rival", "rival_previous")
        frame |= {
            "kind": np.array(KINDS, dtype=object)[terms.kind],
            "feature": pd.Series(terms.feature, dtype=object),
        }
        numbers = {"value": terms.value, "weight": terms.weight, "contribution": self.contributions}
        return pd.DataFrame({**frame, **numbers})

    def _label_columns(
        self, pd: ModuleType, labels: list[Any], name: str, previous: str
    ) -> dict[str, Any]:
        """A label of each term, and for those of two tokens the label before."""
        here = [labels[t] for t in self.terms.token]
        before = [
            labels[t - 1] if KINDS[kind] in STEPS else None
            for t, kind in zip(self.terms.token, self.terms.kind)
        ]
        return {name: pd.Series(here), previous: pd.Series(before, dtype=object)}

    def __repr__(self) -> str:
        """A line for each token: its label and score, and its largest contributions."""
        score = "score" if self.rival is None else "difference of scores"
        lines = [f"Explanation({score} {self.score:.3f}, {len(self.labels)} tokens)"]
        names = [self._label_of(t) for t in range(len(self.labels))]
        widths = [max(map(len, column), default=0) for column in (self.texts, names)]
        bounds = np.searchsorted(self.terms.token, np.arange(len(self.labels) + 1))
        for t, (text, name) in enumerate(zip(self.texts, names, strict=True)):
            parts = ", ".join(self._largest(t, bounds[t], bounds[t + 1]))
            token = f"{text:{widths[0]}}  {name:{widths[1]}}"
            lines.append(f"  {token}  {self.token_scores[t]:+8.3f}  {parts}".rstrip())
        return "\n".join(lines)

    def _label_of(self, t: int) -> str:
        label = str(self.labels[t])
        if self.rival is None or self.rival[t] == self.labels[t]:
            return label
        return f"{label} (not {self.rival[t]})"

    def _largest(self, t: int, start: int, stop: int) -> list[str]:
        """The largest contributions of token t, in words, but none that would be written as 0."""
        size = np.abs(self.contributions[start:stop])
        order = start + np.argsort(-size, kind="stable")[:SHOWN]
        return [
            f"{self._name(t, i)} {self.contributions[i]:+.2f}"
            for i in order
            # what would be printed as 0.00
            if size[i - start] >= 0.005
        ]

    def _name(self, t: int, i: int) -> str:
        kind = KINDS[self.terms.kind[i]]
        feature = self.terms.feature[i]
        if kind == "feature":
            return str(feature)
        if kind in ("intercept", "base"):
            return kind
        pair = f"{self.labels[t - 1]} -> {self.labels[t]}"
        if kind == "second transition":
            return f"{self.labels[t - 2]} -> {pair}"
        return {"transition": pair, "base transition": f"base {pair}"}.get(
            kind, f"{feature} at {pair}"
        )
