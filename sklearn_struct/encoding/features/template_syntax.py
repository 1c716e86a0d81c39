"""The text of templates such as ``U05:%x[-1,0]/%x[0,0]``, as in CRF++, and named sets of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sklearn_struct.exceptions import InputTypeError

__all__ = ["TEMPLATE_SETS", "Template", "parse_templates"]

_WORDS_AND_TAGS = (
    *(f"w[{o}]:%x[{o},0]" for o in (-2, -1, 0, 1, 2)),
    *(f"w[{o}]|w[{o + 1}]:%x[{o},0]|%x[{o + 1},0]" for o in (-1, 0)),
    *(f"pos[{o}]:%x[{o},1]" for o in (-2, -1, 0, 1, 2)),
    *(f"pos[{o}]|pos[{o + 1}]:%x[{o},1]|%x[{o + 1},1]" for o in (-2, -1, 0, 1)),
    *(
        f"pos[{o}]|pos[{o + 1}]|pos[{o + 2}]:%x[{o},1]|%x[{o + 1},1]|%x[{o + 2},1]"
        for o in (-2, -1, 0)
    ),
)
TEMPLATE_SETS: dict[str, tuple[str, ...]] = {
    "chunking": _WORDS_AND_TAGS,
    "sha-pereira": _WORDS_AND_TAGS,
}
"""Named sets of templates: windows of words (column 0) and part-of-speech tags (column 1).

"chunking" and "sha-pereira" are one list. CRFsuite's tutorial on chunking pairs each template with
a label, Sha and Pereira (2003) also with two labels in a row; that is not up to the templates but
to the estimator (``edge_features="all"``).
"""

# a cell: %x[offset,column], where the column is a number or a name
_MACRO = r"%x\[\s*([+-]?\d+)\s*,\s*([^\]:/|]*[^\]:/|\s])\s*\]"
_TEMPLATE = re.compile(rf"(?:([^\s:%]+):)?({_MACRO}(?:[/|]{_MACRO})*)")


class Template(NamedTuple):
    """One template: its parts are (offset, column), `joiners` the characters between the parts."""

    name: str
    parts: tuple[tuple[int, int], ...]
    joiners: str
    text: str


def parse_templates(
    templates: str | Iterable[str], columns: Sequence[str] | None
) -> list[Template]:
    """The templates of a list, of the text of a template file, or of a named set."""
    if isinstance(templates, str):
        templates = TEMPLATE_SETS.get(templates) or templates.splitlines()
    if columns is not None and len(set(columns)) < len(columns):
        raise ValueError(f"columns must have different names, got {list(columns)}")
    parsed: dict[str, Template] = {}
    for text in templates:
        if not isinstance(text, str):
            raise InputTypeError(f"a template is a string, got {text!r}")
        line = text.strip()
        # B, in CRF++, asks for transition weights, which every chain has
        if not line or line.startswith("#") or line == "B":
            continue
        match = _TEMPLATE.fullmatch(line)
        if match is None:
            known = ", ".join(TEMPLATE_SETS)
            hint = (
                "; of a template file give the text, Path(name).read_text()"
                if "%" not in text
                else ""
            )
            raise ValueError(
                f"malformed template {line!r}: expected cells like 'U05:%x[-1,0]/%x[0,0]' (sets: "
                f"{known}){hint}"
            )
        name = match[1] or match[2]
        if name in parsed:
            raise ValueError(
                f"template id {name!r} occurs twice: in {parsed[name].text!r} and {line!r}"
            )
        parts = tuple(
            (int(offset), _column(column, columns, line))
            for offset, column in re.findall(_MACRO, line)
        )
        parsed[name] = Template(name, parts, re.sub(_MACRO, "", match[2]), line)
    return list(parsed.values())


def _column(text: str, columns: Sequence[str] | None, line: str) -> int:
    """The number of a column that a template names by number or name."""
    # a number is a number, also where a column has such a name
    if text.isdecimal():
        return int(text)
    if columns is None or text not in columns:
        raise ValueError(f"template {line!r} names column {text!r}, but columns={columns!r}")
    return list(columns).index(text)
