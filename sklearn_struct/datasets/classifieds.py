"""Reader of the apartment advertisements known as CLASSIFIEDS: a token and its field a line."""

from __future__ import annotations

import os

from sklearn_struct.datasets.conll import Lines, numbered_lines, source_name, split_columns

__all__ = ["read_classifieds"]

FIELDS = {
    "ADDRESS", "AVAILABLE", "CONTACT", "FEATURES", "NEIGHBORHOOD", "PHOTOS", "RENT", "RESTRICTIONS",
    "ROOMMATES", "SIZE", "UTILITIES", "O", "OTHER",
}  # fmt: skip
Row = tuple[int, list[str]]  # number and columns of a line


def read_classifieds(
    source: str | os.PathLike[str] | Lines,
) -> tuple[list[list[str]], list[list[str]]]:
    """Read the CLASSIFIEDS, apartment advertisements with labelled fields.

    Research on weak supervision uses this corpus [1]_. This package does not have the files.
    A line holds a token and its field, in either order, with a tab or spaces between them. An empty
    line follows each advertisement.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    source : str, path, open file or iterable of lines
        A path (gzipped if it ends in ``.gz``; read as UTF-8), or the lines themselves.

    Returns
    -------
    X : list of list of str
        The tokens of each advertisement.
    y : list of list of str
        Their labels in capitals: ADDRESS, AVAILABLE, CONTACT, FEATURES, NEIGHBORHOOD, PHOTOS, RENT,
        RESTRICTIONS, ROOMMATES, SIZE or UTILITIES, and "O" for what is in no field.

    Raises
    ------
    ValueError
        If a line does not have two columns, if none or both of the columns have only names of
        fields, or if the text is not UTF-8. The message names file and line.
    InputTypeError
        If a line is not a string.

    See Also
    --------
    make_rental_ads : Made-up advertisements with the same fields.

    References
    ----------
    .. [1] T. Grenager, D. Klein and C. D. Manning, "Unsupervised learning of field segmentation
       models for information extraction", ACL 2005.

    Examples
    --------
    >>> from sklearn_struct.datasets import read_classifieds
    >>> lines = ["size large", "size studio", "rent $", "rent 900", "", "contact call"]
    >>> X, y = read_classifieds(lines)
    >>> X
    [['large', 'studio', '$', '900'], ['call']]
    >>> y
    [['SIZE', 'SIZE', 'RENT', 'RENT'], ['CONTACT']]
    """
    name = source_name(source)
    ads: list[list[Row]] = [[]]
    for number, line in numbered_lines(source, name):
        columns = _columns(line)
        if len(columns) not in (0, 2):
            raise ValueError(
                f"{name}, line {number}: {len(columns)} columns, expected a token and its field"
            )
        if columns:
            ads[-1].append((number, columns))
        elif ads[-1]:
            ads.append([])
    ads = [rows for rows in ads if rows]
    field = _field_column(ads, name)
    X = [[columns[1 - field] for _, columns in rows] for rows in ads]
    y = [[_label(columns[field]) for _, columns in rows] for rows in ads]
    return X, y


def _columns(line: str) -> list[str]:
    if "\t" not in line:
        return split_columns(line)
    # lines of both kinds occur in one file
    return [column for part in line.split("\t") if (column := part.strip(" "))]


def _label(field: str) -> str:
    return "O" if field.upper() == "OTHER" else field.upper()


def _field_column(ads: list[list[Row]], name: str) -> int:
    """The column that has only names of fields."""
    rows = [(number, columns) for ad in ads for number, columns in ad]
    left, right = (
        next(
            ((number, columns[c]) for number, columns in rows if columns[c].upper() not in FIELDS),
            None,
        )
        for c in (0, 1)
    )  # the first that is no field, and its line
    if left and right:
        places = (
            f"line {left[0]} has {left[1]!r} in the first, line {right[0]} {right[1]!r} in the "
            "second"
        )
        raise ValueError(f"{name}: neither column has names of fields alone: {places}")
    if rows and not left and not right:
        place = f"{name}, from line {rows[0][0]} on"
        raise ValueError(
            f"{place}: both columns have names of fields alone, so which are the tokens?"
        )
    return 1 if left else 0
