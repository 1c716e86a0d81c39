"""Lists of known phrases as features of segments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from sklearn.base import BaseEstimator

from sklearn_struct._doc_link import DocLink
from sklearn_struct.exceptions import InputTypeError

__all__ = ["Lexicon"]

Phrases: TypeAlias = Collection[str | tuple[str, ...]]


class _Index(NamedTuple):
    """The attributes of each phrase, how many words the longest one has, and what it is made of."""

    attributes: dict[tuple[str, ...], list[str]]
    longest: int
    made_of: tuple[Any, ...]


class Lexicon(DocLink, BaseEstimator):
    """Feature of a segment: its words are a known phrase, such as the name of a city.

    It is a function of (tokens, start, end) for `segment_features` of `SemiMarkovCRF`. A segment
    whose words are a phrase of the lexicon gets an attribute. Other segments get none.

    Read more in :doc:`/user_guide/segments`.

    Parameters
    ----------
    phrases : set or list of phrases, or dict of {str: set or list of phrases}
        A phrase is a string, whose words are parted by spaces, or a tuple of words. The keys of a
        dict are kinds of phrases. Each kind has an attribute of its own. A phrase may be of several
        kinds. Do not change a set after its first use: it is read once.
    name : str, default="in_lexicon"
        Name of the attribute. For phrases of a kind it is ``name:kind``. Two lexicons in one model
        need two names.
    key : str, default="word"
        Where tokens are dicts, the key of the word. A token that is a string is the word.
    case_sensitive : bool, default=True
        Whether "new york" differs from "New York".

    See Also
    --------
    SemiMarkovCRF : Learns weights of such features.

    Examples
    --------
    >>> from sklearn_struct import Lexicon
    >>> cities = Lexicon({"city": {"New York", "Rome"}}, case_sensitive=False)
    >>> cities(["to", "NEW", "YORK"], 1, 3)
    ['in_lexicon:city']
    >>> cities(["to", "NEW", "YORK"], 0, 3)
    []
    """

    def __init__(
        self,
        phrases: Phrases | Mapping[str, Phrases],
        name: str = "in_lexicon",
        key: str = "word",
        case_sensitive: bool = True,
    ) -> None:
        self.phrases = phrases
        self.name = name
        self.key = key
        self.case_sensitive = case_sensitive

    def __call__(self, tokens: Sequence[Any], start: int, end: int) -> list[str]:
        """The attributes of the segment of the tokens from start to before end.

        Parameters
        ----------
        tokens : list of str or dict
            The tokens of the sequence.
        start, end : int

        Returns
        -------
        list of str

        Raises
        ------
        InputTypeError
            If a token has no word, or a phrase is no phrase.
        """
        attributes, longest, _ = self._index()
        if end - start > longest:
            return []
        words = [self._word(token) for token in tokens[start:end]]
        if not self.case_sensitive:
            words = [word.casefold() for word in words]
        return list(attributes.get(tuple(words), ()))

    def _word(self, token: Any) -> str:
        word = token.get(self.key) if isinstance(token, dict) else token
        if not isinstance(word, str):
            raise InputTypeError(
                f"Lexicon reads words: a token is a string, or a dict that has a string at the key "
                f"{self.key!r}; got {token!r}"
            )
        return word

    def _index(self) -> _Index:
        """The phrases by their words, made anew where a parameter has been changed."""
        params = self.phrases, self.name, self.case_sensitive
        index: _Index | None = self.__dict__.get("_made")
        if index is None or any(a is not b for a, b in zip(index.made_of, params, strict=True)):
            index = self._made = self._read(params)
        return index

    def _read(self, params: tuple[Any, ...]) -> _Index:
        kinds: list[tuple[str, Phrases]] = [(self.name, self.phrases)]
        if isinstance(self.phrases, Mapping):
            kinds = [(f"{self.name}:{kind}", phrases) for kind, phrases in self.phrases.items()]
        attributes: dict[tuple[str, ...], list[str]] = {}
        for name, phrases in kinds:
            if isinstance(phrases, str) or not isinstance(phrases, Collection):
                raise InputTypeError(
                    f"the phrases of a Lexicon are a set or a list, or a dict of these; got "
                    f"{phrases!r}"
                )
            for phrase in phrases:
                of_phrase = attributes.setdefault(self._words(phrase), [])
                if name not in of_phrase:
                    of_phrase.append(name)
        return _Index(attributes, max(map(len, attributes), default=0), params)

    def _words(self, phrase: Any) -> tuple[str, ...]:
        words = tuple(phrase.split()) if isinstance(phrase, str) else phrase
        is_tuple = isinstance(words, tuple) and len(words) > 0
        if not is_tuple or not all(isinstance(word, str) for word in words):
            raise InputTypeError(
                f"a phrase of a Lexicon is a string with words, or a tuple of words; got {phrase!r}"
            )
        return words if self.case_sensitive else tuple(word.casefold() for word in words)

    def __getstate__(self) -> dict[str, Any]:
        # what can be made again is in no pickle and in no copy
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_made"}
