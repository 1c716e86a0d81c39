"""What `FeatureTemplates` learns, and what its attributes are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from sklearn_struct.encoding.features.column_codes import KeyIndex, Values
from sklearn_struct.encoding.features.template_numbers import Cells, Indexes, cells_of, joined
from sklearn_struct.encoding.features.template_syntax import Template

__all__ = ["Learnt"]


@dataclass
class Learnt:
    """What `fit` learns: values of each column, and the numbers of each template's combinations.

    A call spells out the names of the attributes. Two models that learned the same have the same
    names, so they can be compared without spelling them out.
    """

    templates: list[Template]
    values: list[Values]
    reach: tuple[int, int]
    pad: bool
    stages: list[dict[int, KeyIndex]]
    indexes: list[KeyIndex]
    _names: np.ndarray | None = field(default=None, compare=False, repr=False)
    # made by the first prediction
    _tables: tuple[Cells, Indexes] | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # neither pickles nor copies carry what can be made again
        return {**self.__dict__, "_tables": None}

    def tables(self) -> tuple[Cells, Indexes]:
        """What `find_numbers` reads."""
        if self._tables is None:
            self._tables = cells_of(self.templates, self.n_codes), joined(self.indexes)
        return self._tables

    def n_codes(self, column: int) -> int:
        """Number of codes of a column, with those of positions beside a sequence."""
        return len(self.values[column]) + sum(self.reach) * self.pad

    def codes(self, j: int) -> np.ndarray:
        """The codes that the attributes of template j combine, (n_attributes, n_parts)."""
        parts = self.templates[j].parts
        keys = self.indexes[j].keys
        codes = np.empty((len(keys), len(parts)), np.int64)
        # `combine` read backwards: the last part is the lowest digit
        for p in range(len(parts) - 1, 0, -1):
            keys, codes[:, p] = np.divmod(keys, self.n_codes(parts[p][1]))
            if p in self.stages[j]:
                keys = self.stages[j][p].keys[keys]
        codes[:, 0] = keys
        return codes

    def __call__(self) -> np.ndarray:
        if self._names is None:
            names = [name for j in range(len(self.templates)) for name in _names(self, j)]
            self._names = np.array(names, dtype=object)
            self._names.flags.writeable = False  # all who ask share it
        return self._names


def _names(learnt: Learnt, j: int) -> list[str]:
    """The names of the attributes of template j."""
    template = learnt.templates[j]
    if not template.parts:
        return [template.name] * len(learnt.indexes[j].keys)
    texts = {c: _texts(learnt, c, template.joiners) for _, c in template.parts}
    columns = [
        [texts[c][code] for code in codes]
        for (_, c), codes in zip(template.parts, learnt.codes(j).T.tolist())
    ]
    joiners = (*template.joiners, "")
    return [
        template.name + ":" + "".join(chain.from_iterable(zip(row, joiners)))
        for row in zip(*columns)
    ]


def _texts(learnt: Learnt, c: int, joiners: str) -> list[str]:
    """How each code of column c is spelt: no two alike, and every joiner escaped."""
    special = [
        f"_B{sign}{d + 1}"
        for sign, reach in zip("-+", learnt.reach)
        for d in range(reach * learnt.pad)
    ]
    plain = special + list(map(str, learnt.values[c]))
    escapes = str.maketrans({character: "\\" + character for character in "\\" + joiners})
    texts: list[str] = []
    seen: set[str] = set()
    for code, text in enumerate(plain):
        # 1 and "1" are two values: the second one gets its code in front
        texts.append(f"\\{code}:" * (text in seen) + text.translate(escapes))
        seen.add(text)
    return texts
