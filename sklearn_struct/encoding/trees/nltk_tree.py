"""nltk's trees as we give them: a notebook shows their text where svgling, which draws them, is not
installed.
"""

from __future__ import annotations

from typing import Any

from nltk.tree import Tree as NltkTree

__all__ = ["Tree"]


class Tree(NltkTree):
    """An nltk tree that equals plain ones; it is called as they are, for nltk prints and orders
    trees by that name.
    """

    def _repr_svg_(self) -> str | None:
        """The picture; None without svgling, which IPython takes for "show the text"."""
        try:
            return super()._repr_svg_()
        except ImportError:
            return None

    __hash__ = None  # type: ignore[assignment]  # as nltk's, whose trees can be changed

    def __eq__(self, other: Any) -> bool:
        """As between plain trees; nltk's own is False for trees of two classes."""
        if type(other) not in (Tree, NltkTree):
            return False
        return (self.label(), list(self)) == (other.label(), list(other))

    def __lt__(self, other: Any) -> bool:
        if type(other) is NltkTree:
            return (self.label(), list(self)) < (other.label(), list(other))
        return super().__lt__(other)
