"""nltk's trees as this package returns them: notebooks show them without svgling, too, as text."""

from __future__ import annotations

from nltk.tree import Tree as NltkTree

__all__ = ["Tree"]


class Tree(NltkTree):
    """An nltk tree that equals plain ones.

    The class has the name of nltk's, since nltk prints and orders trees by that name.
    """

    def _repr_svg_(self) -> str | None:
        """The picture; None without svgling, which IPython takes for "show the text"."""
        try:
            picture: str = super()._repr_svg_()
            return picture
        except ImportError:
            return None

    __hash__ = None  # type: ignore[assignment]  # as nltk's, whose trees can be changed

    def __eq__(self, other: object) -> bool:
        """As between plain trees; nltk's own is False for trees of two classes."""
        if not isinstance(other, NltkTree) or type(other) not in (Tree, NltkTree):
            return False
        return (self.label(), list(self)) == (other.label(), list(other))

    def __lt__(self, other: NltkTree) -> bool:
        if type(other) is NltkTree:
            return bool((self.label(), list(self)) < (other.label(), list(other)))
        return bool(super().__lt__(other))
