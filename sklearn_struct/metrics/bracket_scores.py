"""Precision, recall and F1 of labelled brackets in trees, as EVALB computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from sklearn_struct.encoding.trees.binarization import ROOT, TRACE, bare, check_words
from sklearn_struct.encoding.trees.brackets import NltkTree, Tree, as_trees, tagged_words
from sklearn_struct.metrics.span_report import report_rows, report_text
from sklearn_struct.metrics.span_scores import (
    SpanCounts,
    average_scores,
    check_averaging,
    counts_of,
)

__all__ = [
    "bracket_f1_score",
    "bracket_precision_recall_fscore",
    "bracket_report",
    "complete_match_score",
]

PUNCTUATION = {",", ".", ":", "``", "''"}  # tags, as in EVALB's COLLINS.prm

Bracket = tuple[str, int, int]
Leaf = tuple[str, str]  # word and tag


def bracket_precision_recall_fscore(
    y_true: Iterable[str | Tree | NltkTree],
    y_pred: Iterable[str | Tree | NltkTree],
    *,
    average: str | None = "micro",
    labels: Sequence[str] | None = None,
    zero_division: float = 0.0,
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F1 and support of labelled brackets.

    A bracket is right if its label, start and stop are right. The scores are those of EVALB with
    its usual parameters (``COLLINS.prm``). Function tags and traces are left out. Punctuation
    (words that `y_true` tags as ``, . : `` ''``) is left out, too, before starts and stops are
    compared. The root (ROOT, TOP, S1 or without a label) and the tags of words do not count. ADVP
    and PRT count as the same label. If a tree has several brackets with the same label over the
    same words, each of them counts.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    y_true, y_pred : list or object array of trees
        True and predicted trees over the same words: bracketed strings or nltk's trees.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro" counts all brackets alike, "macro" is the mean over labels, "weighted" the mean
        weighted by support, None gives the scores of each label.
    labels : list of str, default=None
        The labels to count, in this order. None counts all that occur in `y_true` or `y_pred`,
        sorted.
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The value of a score whose denominator is 0. Means leave out NaN.

    Returns
    -------
    precision, recall, f1 : float, or ndarray of shape (n_labels,) if `average` is None
        The scores.
    support : None, or ndarray of shape (n_labels,) if `average` is None
        Number of true brackets.

    Raises
    ------
    ValueError
        If a parameter is not among its choices, or a string is not a tree in brackets.
    LengthMismatchError
        If the numbers of trees or the words of two trees differ.
    InputTypeError
        If something is not a tree.

    See Also
    --------
    bracket_f1_score : F1 alone.
    bracket_report : All scores as a table.
    complete_match_score : Counts whole trees.

    Examples
    --------
    >>> from sklearn_struct.metrics import bracket_precision_recall_fscore
    >>> y_true = ["(S (NP (PRP I)) (VP (VBP see) (NP (NNS stars))))"]
    >>> y_pred = ["(S (NP (PRP I)) (VP (VBP see)) (NP (NNS stars)))"]
    >>> bracket_precision_recall_fscore(y_true, y_pred)
    (0.75, 0.75, 0.75, None)
    """
    check_averaging(average, zero_division)
    return average_scores(_count(y_true, y_pred, labels)[0], average, zero_division)


def bracket_f1_score(
    y_true: Iterable[str | Tree | NltkTree], y_pred: Iterable[str | Tree | NltkTree]
) -> float:
    """F1 of labelled brackets, the harmonic mean of precision and recall over all trees.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    y_true, y_pred : list or object array of trees
        True and predicted trees over the same words: bracketed strings or nltk's trees.

    Returns
    -------
    f1 : float
        The score; see `bracket_precision_recall_fscore` for what counts.

    See Also
    --------
    bracket_precision_recall_fscore : All scores, also by label.
    bracket_report : All scores as a table.
    complete_match_score : Counts whole trees.

    Examples
    --------
    >>> from sklearn_struct.metrics import bracket_f1_score
    >>> y_true = ["(S (NP (PRP I)) (VP (VBP see) (NP (NNS stars))))"]
    >>> bracket_f1_score(y_true, ["(S (NP (PRP I)) (VP (VBP see)) (NP (NNS stars)))"])
    0.75
    """
    return float(bracket_precision_recall_fscore(y_true, y_pred)[2])


def complete_match_score(
    y_true: Iterable[str | Tree | NltkTree], y_pred: Iterable[str | Tree | NltkTree]
) -> float:
    """The share of trees with exactly the true brackets.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    y_true, y_pred : list or object array of trees
        True and predicted trees over the same words: bracketed strings or nltk's trees.

    Returns
    -------
    score : float
        The share among the trees that have words other than punctuation; 0 if there are no such
        trees. `bracket_precision_recall_fscore` says which brackets count.

    See Also
    --------
    bracket_f1_score : F1 alone.
    bracket_precision_recall_fscore : All scores, also by label.
    bracket_report : All scores as a table.

    Examples
    --------
    >>> from sklearn_struct.metrics import complete_match_score
    >>> y_true = ["(S (NP (PRP I)) (VP (VBP see)))", "(S (VP (VBP Go)) (. !))"]
    >>> y_pred = ["(S (NP (PRP I)) (VP (VBP see)))", "(VP (VBP Go) (. !))"]
    >>> complete_match_score(y_true, y_pred)
    0.5
    """
    return _count(y_true, y_pred, None)[1]


def bracket_report(
    y_true: Iterable[str | Tree | NltkTree],
    y_pred: Iterable[str | Tree | NltkTree],
    *,
    digits: int = 2,
    output_dict: bool = False,
) -> str | dict[str, dict[str, float] | float]:
    """Table of the bracket scores of each label, of all, and the share of complete matches.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    y_true, y_pred : list or object array of trees
        True and predicted trees over the same words: bracketed strings or nltk's trees.
    digits : int, default=2
        Digits after the point, in the text.
    output_dict : bool, default=False
        Whether to return a dict instead of text.

    Returns
    -------
    report : str or dict
        The dict has a row for each label and average, with "precision", "recall", "f1-score" and
        "support", and a number, "complete match".

    See Also
    --------
    bracket_f1_score : F1 alone.
    bracket_precision_recall_fscore : All scores, also by label.
    complete_match_score : Counts whole trees.

    Examples
    --------
    >>> from sklearn_struct.metrics import bracket_report
    >>> y_true = ["(S (NP (PRP I)) (VP (VBP see) (NP (NNS stars))))"]
    >>> print(bracket_report(y_true, ["(S (NP (PRP I)) (VP (VBP see)) (NP (NNS stars)))"]))
                    precision    recall  f1-score   support
    <BLANKLINE>
                NP       1.00      1.00      1.00         2
                 S       1.00      1.00      1.00         1
                VP       0.00      0.00      0.00         1
    <BLANKLINE>
         micro avg       0.75      0.75      0.75         4
         macro avg       0.67      0.67      0.67         4
      weighted avg       0.75      0.75      0.75         4
    complete match                           0.00
    """
    counts, complete = _count(y_true, y_pred, None)
    rows = report_rows(counts) | {"complete match": complete}
    return rows if output_dict else report_text(rows, digits)


def _count(
    y_true: Iterable[str | Tree | NltkTree],
    y_pred: Iterable[str | Tree | NltkTree],
    labels: Sequence[str] | None,
) -> tuple[SpanCounts, float]:
    """Numbers of brackets by label, and the share of complete matches."""
    true = as_trees(y_true, "y_true")
    pred = as_trees(y_pred, "y_pred")
    leaves = [[tagged_words(tree) for tree in side] for side in (true, pred)]
    spoken = [
        [[word for word, tag in tagged if tag != TRACE] for tagged in side] for side in leaves
    ]
    # without traces, which parsers do not predict
    check_words(spoken[0], spoken[1], ("y_true", "y_pred"))
    counters: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    complete = []
    for true_tree, pred_tree, true_leaves, pred_leaves in zip(true, pred, *leaves):
        # the tags of the true tree say for both what is punctuation
        counted = [tag not in PUNCTUATION for _, tag in true_leaves if tag != TRACE]
        of_true = _brackets(true_tree, true_leaves, counted)
        of_pred = _brackets(pred_tree, pred_leaves, counted)
        # of brackets that are there several times, & takes as many as both sides have
        for counter, brackets in zip(counters, (of_true & of_pred, of_pred, of_true)):
            for (label, _, _), n in brackets.items():
                counter[label] += n
        # a sentence of punctuation alone cannot be right or wrong
        if any(counted):
            complete.append(of_true == of_pred)
    return counts_of(counters, labels), sum(complete) / max(len(complete), 1)


def _brackets(tree: Tree, leaves: list[Leaf], counted: list[bool]) -> Counter[Bracket]:
    """The labelled brackets, bounded by words that count.

    `counted` says which words do, traces left out.
    """
    spoken = iter(counted)
    before = [0, *accumulate(tag != TRACE and next(spoken) for _, tag in leaves)]
    brackets: Counter[Bracket] = Counter()
    stops: list[int] = []  # of subtrees without a parent yet, the leftmost on top
    start = len(leaves)
    n_below = 0
    for label, n in zip(reversed(tree.labels), reversed(tree.arity)):
        if n == 0:
            stops.append(start)
            start -= 1
        else:
            stops[-n:] = [stops[-n]]
            bracket = _label(label), before[start], before[stops[-1]]
            # a node whose only child is a word, of n_below = 0, is a tag
            if bracket[0] != ROOT and bracket[1] < bracket[2] and (n > 1 or n_below > 0):
                brackets[bracket] += 1
        n_below = n
    return brackets


def _label(label: str) -> str:
    name = bare(label)
    # as in EVALB's COLLINS.prm
    return "ADVP" if name == "PRT" else name
