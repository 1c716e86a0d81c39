"""The span scores of each type as a table."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn_struct.containers.typing import Sequences
from sklearn_struct.metrics.span_scores import SpanCounts, average_scores, count_spans

__all__ = ["report_rows", "report_text", "span_classification_report"]

_COLUMNS = ("precision", "recall", "f1-score", "support")


def span_classification_report(
    y_true: Sequences,
    y_pred: Sequences,
    *,
    scheme: str | None = None,
    digits: int = 2,
    output_dict: bool = False,
) -> str | dict[str, dict[str, float]]:
    """Table of the span scores of each type and their averages.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, strings such as ``B-NP``.
    scheme : {"IO", "IOB1", "IOB2", "IOBES"}, default=None
        How spans are read, see `extract_spans`.
    digits : int, default=2
        Digits after the point, in the text.
    output_dict : bool, default=False
        Whether to return a dict instead of text.

    Returns
    -------
    report : str or dict
        The dict has a row for each type and average, with "precision", "recall", "f1-score" and
        "support".

    See Also
    --------
    span_precision_recall_fscore_support : The same numbers as arrays.
    extract_spans : The spans of one sequence.

    Examples
    --------
    >>> from sklearn_struct.metrics import span_classification_report
    >>> y_true, y_pred = [["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]]
    >>> print(span_classification_report(y_true, y_pred))
                  precision    recall  f1-score   support
    <BLANKLINE>
             LOC       0.00      0.00      0.00         1
             PER       0.50      1.00      0.67         1
    <BLANKLINE>
       micro avg       0.50      0.50      0.50         2
       macro avg       0.25      0.50      0.33         2
    weighted avg       0.25      0.50      0.33         2
    """
    rows = report_rows(count_spans(y_true, y_pred, scheme, None))
    return rows if output_dict else report_text(rows, digits)


def report_rows(counts: SpanCounts) -> dict[str, dict[str, float]]:
    """A row for each type and average."""
    per_type = zip(
        counts.types, zip(*(column.tolist() for column in average_scores(counts, None, 0.0)))
    )
    rows = {name: dict(zip(_COLUMNS, row)) for name, row in per_type}
    n_spans = int(counts.true.sum())
    for average in ("micro", "macro", "weighted"):
        rows[f"{average} avg"] = dict(
            zip(_COLUMNS, (*average_scores(counts, average, 0.0)[:3], n_spans))
        )
    return rows


def report_text(rows: Mapping[str, dict[str, float] | float], digits: int) -> str:
    """The rows as a table; a number stands in the column of F1."""
    width = max(map(len, rows))
    cell = max(10, digits + 4)
    lines = [" " * width + "".join(f"{column:>{cell}}" for column in _COLUMNS), ""]
    for name, row in rows.items():
        if name == "micro avg" and len(lines) > 2:
            lines.append("")
        if isinstance(row, dict):
            scores = "".join(f"{row[column]:>{cell}.{digits}f}" for column in _COLUMNS[:3])
            lines.append(f"{name:>{width}}{scores}{row['support']:>{cell}}")
        else:
            lines.append(f"{name:>{width}}{row:>{3 * cell}.{digits}f}")
    return "\n".join(lines)
