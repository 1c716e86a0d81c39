"""Words and the tags that they may have.

Words seen often enough are known; all others are taken for their signatures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.encoding.trees.word_signatures import signature

__all__ = ["Emissions", "Lexicon", "entries", "learn", "observations", "observe"]

# Words seen less often than this show what tags unknown words of their signature have.
RARE = 5
# Any other word counts `unknown` times for the tags of rare words, and RESERVE * `unknown` times
# for the tags of all words: little, but so it may have every tag.
RESERVE = 0.01


class Lexicon(NamedTuple):
    """What a word is taken for, and the tags it may then have.

    ``words`` and ``signatures`` give the codes of observations; the last observation is any other
    word. Observation o has the tags ``symbol[indptr[o] : indptr[o + 1]]``, ascending codes of
    symbols. Each pair of an observation and a tag is an entry.
    """

    words: dict[str, int]
    signatures: dict[str, int]
    indptr: np.ndarray
    symbol: np.ndarray


class Emissions(NamedTuple):
    """How much each token of the training data counts for each entry of a lexicon.

    The counts are the matrix ``of_tokens + spread @ of_rare``, with a row for each entry and a
    column for each token. The product is kept as its factors, since it has many more entries.
    """

    of_tokens: sp.csr_array
    of_rare: sp.csr_array
    spread: sp.csr_array

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Counts times a row of numbers for each token: (n_entries, width)."""
        sums: np.ndarray = self.of_tokens @ rows + self.spread @ (self.of_rare @ rows)
        return sums


def observe(lexicon: Lexicon, sentence: Sequence[str]) -> list[int]:
    """Codes of what the words of a sentence are taken for."""
    words = lexicon.words
    signatures = lexicon.signatures
    codes = [words.get(word, -1) for word in sentence]
    for i, code in enumerate(codes):
        if code < 0:
            codes[i] = signatures.get(signature(sentence[i], i, words), len(lexicon.indptr) - 2)
    return codes


def observations(lexicon: Lexicon, other: str) -> list[str]:
    """The observation of each entry, in words; `other` is the text for any other word."""
    shown = [*lexicon.words, *lexicon.signatures, other]  # in the order of their codes
    return [shown[o] for o in np.repeat(np.arange(len(shown)), np.diff(lexicon.indptr)).tolist()]


def learn(
    X: Sequence[Sequence[str]], tags: np.ndarray, n_tags: int, min_frequency: int, unknown: float
) -> tuple[Lexicon, Emissions, np.ndarray]:
    """A lexicon from sentences and the tag of each token; and the entry of each token.

    A word seen at least `min_frequency` times is known. It counts for its tags as often as it was
    seen with them, and `unknown` times for the tags that rare words of its signature have.
    Signatures count as often as rare words have them. Any other word counts `unknown` times for the
    tags of rare words, and a little for every tag. The counts of entries, divided by the sums of
    their tags, are the probabilities of what tags emit.
    """
    tokens = list(chain.from_iterable(X))
    n_seen = Counter(tokens)
    words = {
        word: code
        for code, word in enumerate(
            sorted(word for word, n in n_seen.items() if n >= min_frequency)
        )
    }
    rare = np.flatnonzero([n_seen[word] < max(RARE, min_frequency) for word in tokens])
    position = np.concatenate(
        [np.empty(0, np.int64), *(np.arange(len(sentence)) for sentence in X)]
    )
    names = [signature(tokens[t], position[t], words) for t in rare.tolist()]
    signatures = {name: len(words) + code for code, name in enumerate(sorted(set(names)))}
    other = len(words) + len(signatures)

    observed = np.array([words.get(word, -1) for word in tokens], dtype=np.int64)
    shown = np.array([signatures[name] for name in names], dtype=np.int64)
    known = np.flatnonzero(observed >= 0)
    observed[rare] = np.where(observed[rare] >= 0, observed[rare], shown)
    pairs, pair, n_pairs = np.unique(
        shown * n_tags + tags[rare], return_inverse=True, return_counts=True
    )
    to, of, share = _spread(words, signatures, pairs, n_pairs, n_tags)
    everywhere = other * n_tags + tags
    entries, entry = np.unique(
        np.concatenate([observed * n_tags + tags, to, everywhere]), return_inverse=True
    )
    own, to, everywhere = np.split(entry, np.cumsum([len(tokens), len(to)]))

    n = len(tokens)
    weight = np.where(np.arange(len(of)) < len(pairs), 1.0, unknown) * share
    counts = np.concatenate([np.ones(len(known)), np.full(n, RESERVE * unknown / max(n, 1))])
    of_tokens = np.concatenate([own[known], everywhere]), np.concatenate([known, np.arange(n)])
    emissions = Emissions(
        sp.csr_array((counts, of_tokens), shape=(len(entries), n)),
        sp.csr_array((np.ones(len(rare)), (pair, rare)), shape=(len(pairs), n)),
        sp.csr_array((weight, (to, of)), shape=(len(entries), len(pairs))),
    )
    indptr = np.searchsorted(entries, np.arange(other + 2) * n_tags)
    return (
        Lexicon(words, signatures, indptr, (entries % n_tags).astype(np.int32)),
        emissions,
        own.astype(np.int32),
    )


def _spread(
    words: dict[str, int],
    signatures: dict[str, int],
    pairs: np.ndarray,
    n_pairs: np.ndarray,
    n_tags: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which entries get what share of the rare words, which count by pair (signature, tag).

    Returns
    -------
    entries, pairs, shares : ndarray
        First the entries of the pairs themselves, then those of known words, and last those of any
        other word.
    """
    # position 1, as if inside a sentence: known words have no one position
    own = [signatures.get(signature(word, 1, words), -1) for word in words]
    codes = np.array([*own, -1], dtype=np.int64)[:-1]
    first = np.searchsorted(pairs, codes * n_tags)
    stop = np.searchsorted(pairs, (codes + 1) * n_tags)
    n_of_word = np.where(codes >= 0, stop - first, 0)
    word = np.repeat(np.arange(len(codes)), n_of_word)
    of = np.arange(len(word)) - np.repeat(np.cumsum(n_of_word) - n_of_word, n_of_word) + first[word]
    n_shown = np.bincount(pairs // n_tags, weights=n_pairs, minlength=len(words) + len(signatures))
    every = np.arange(len(pairs))
    other = len(words) + len(signatures)
    return (
        np.concatenate(
            [pairs, word * n_tags + pairs[of] % n_tags, other * n_tags + pairs % n_tags]
        ),
        np.concatenate([every, of, every]),
        np.concatenate(
            [
                np.ones(len(pairs)),
                1 / n_shown[pairs[of] // n_tags],
                np.full(len(pairs), 1 / max(n_pairs.sum(), 1)),
            ]
        ),
    )


def entries(
    lexicon: Lexicon, code: int, allowed: np.ndarray | None = None, relaxed: bool = False
) -> np.ndarray:
    """The entries of an observation; `allowed` is a mask of tags.

    If none of its tags is allowed, it has the entries of any other word. If `relaxed`, it has
    these, too, for the tags that it never had.
    """
    own, other = (np.arange(*lexicon.indptr[o : o + 2]) for o in (code, len(lexicon.indptr) - 2))
    if allowed is not None:
        own, other = (rows[allowed[lexicon.symbol[rows]]] for rows in (own, other))
    if relaxed or not len(own):
        missing = np.isin(lexicon.symbol[other], lexicon.symbol[own], invert=True)
        own = np.concatenate([own, other[missing]])
    return own
