"""Numbers for distinct strings, many strings at a time.

The strings of a batch are joined to one block of UTF-8 with a zero byte after each, so that
compiled code can hash and compare them eight bytes at a time: ``words[p]`` is the little-endian
number of the bytes from p on, at any p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import CONFIG, Index, prefetch

__all__ = ["Names", "as_words", "join_pairs"]

# the last word may be read past the end, and the array of words must have a second element
_PADDING = bytes(16)
_ZERO = b"\xc0\x80"  # a zero byte inside a string: two bytes that never occur in UTF-8

_NOTHING = nullcontext()
_U64 = np.uint64
_MULTIPLIER = _U64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads like texts
_HALF = _U64(32)
_AHEAD = 8  # strings between a request for memory and its use
_EMPTY = _U64(0xFFFFFFFF)  # a slot without a number; also the half of a slot for the number

# In ``(word - _ONES) & ~word & _HIGH`` the lowest bit is that of the first zero byte; no bit if
# there is none.
_ONES = _U64(0x0101010101010101)
_HIGH = _U64(0x8080808080808080)
_PLACES = _U64(0x0001020304050607)  # (1 << 8 * k) * _PLACES has k in its highest byte
_1 = _U64(1)
_7 = _U64(7)
_8 = _U64(8)
_56 = _U64(56)


def as_words(texts: Sequence[str], n: int | None = None) -> np.ndarray:
    """Texts as a read-only array of words; TypeError if one of them is not a string.

    Some may be several that zeros join, n in all; ValueError if there are other zeros in these.
    """
    n = len(texts) if n is None else n
    # all strings in one call: objects of Python cost more than the hashing
    data = "\0".join(texts).encode("utf-8", "surrogatepass")
    # more zero bytes than separators: one is inside a text, and would end it
    if np.count_nonzero(np.frombuffer(data, np.uint8)) + n != len(data) + 1:
        if n != len(texts):
            raise ValueError("a text has a zero byte inside")
        data = b"\0".join(
            [str.encode(text, "utf-8", "surrogatepass").replace(b"\0", _ZERO) for text in texts]
        )
    return _words(data + _PADDING)


def join_pairs(
    keys: np.ndarray, separator: np.ndarray, texts: np.ndarray, kinds: np.ndarray
) -> np.ndarray:
    """Words of names: keys of kind 1 alone, keys of kind 2 with separator and text, none of kind 0.

    There is a text for each key, empty unless the kind is 2.
    """
    data = np.empty(len(keys) + len(texts) + len(kinds) * len(separator), np.uint8)
    with _overflows():
        write_pairs(keys, separator, texts, kinds, _words(data))
    data.flags.writeable = False
    return _words(data)


def _overflows() -> AbstractContextManager[Any]:
    """What calls of kernels whose words overflow stand in: without the JIT numpy would warn."""
    return np.errstate(over="ignore") if CONFIG.DISABLE_JIT else _NOTHING


def _words(data: bytes | np.ndarray) -> np.ndarray:
    """Overlapping words of bytes."""
    # all processors that numba serves read words at any address
    return np.ndarray((len(data) - 7,), np.uint64, data, strides=(1,))


class _Table(NamedTuple):
    """Slots with half a hash and a number each; string number j begins at ``starts[j]``.

    That is a place in ``bytes``, which ``words`` reads as words.
    """

    slots: np.ndarray
    starts: np.ndarray
    words: np.ndarray
    bytes: np.ndarray


class Names:
    """Strings in the order in which they first appeared; their numbers are 0, 1, …

    They are kept as UTF-8, since a list of Python's strings is several times larger. A call makes
    the list: a read-only array, always the same one.

    Parameters
    ----------
    texts : sequence of str
        The first ones.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._clear(8)
        self.learn(as_words(texts), len(texts))

    def _clear(self, n_slots: int) -> None:
        self._n = 0
        self._slots = np.full(n_slots, _EMPTY)
        self._starts = np.zeros(n_slots, np.int64)
        self._bytes = np.empty(64, np.uint8)
        self._array: np.ndarray | None = None

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        # the same strings in the same order; slots follow from these
        return self is other or (isinstance(other, Names) and self._text() == other._text())

    def __call__(self) -> np.ndarray:
        if self._array is None:
            self._array = np.fromiter(self, object, len(self))
            self._array.flags.writeable = False  # all who ask share it
        return self._array

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[str]:
        data = self._text()
        if _ZERO in data:
            return (
                part.replace(_ZERO, b"\0").decode("utf-8", "surrogatepass")
                for part in data.split(b"\0")[:-1]
            )
        return iter(data.decode("utf-8", "surrogatepass").split("\0")[:-1])

    def __reduce__(self) -> tuple[type[Names], tuple[list[str]]]:
        return Names, (list(self),)

    def _text(self) -> bytes:
        return self._bytes[: self._starts[self._n]].tobytes()

    def learn(self, words: np.ndarray, n: int) -> np.ndarray:
        """Numbers (int32) of the first n strings in `words`; new strings get the next numbers."""
        self._array = None
        self._reserve(n, len(words))
        return self._number(words, n, self._starts)

    def learn_names(self, others: Names) -> np.ndarray:
        """Numbers (int32) of all strings of `others`; new strings get the next numbers."""
        return self.learn(_words(others._text() + _PADDING), len(others))

    def find(self, words: np.ndarray, n: int) -> np.ndarray:
        """Numbers (int32) of the first n strings in `words`, -1 for new ones."""
        # without a free place in `starts` nothing can be learned
        return self._number(words, n, self._starts[: self._n + 1])

    def _reserve(self, n: int, n_bytes: int) -> None:
        """Room for n more strings, a third of the slots being empty."""
        # a third stays empty, so that searches end soon
        n_slots = 3 * (self._n + n) // 2 + 1
        if n_slots > len(self._slots):
            text = self._text()
            n_known = self._n
            self._clear(max(n_slots, 2 * len(self._slots)))
            self.learn(_words(text + _PADDING), n_known)
        end = int(self._starts[self._n]) + n_bytes + len(_PADDING)
        if end > len(self._bytes):
            known = self._bytes[: self._starts[self._n]]
            self._bytes = np.empty(2 * end, np.uint8)  # pages take no memory until they are used
            self._bytes[: len(known)] = known

    def _number(self, words: np.ndarray, n: int, starts: np.ndarray) -> np.ndarray:
        ends = np.empty(n, np.int64)
        hashes = np.empty(n, np.uint64)
        numbers = np.empty(n, np.int32)
        table = _Table(self._slots, starts, _words(self._bytes), self._bytes)
        with _overflows():
            hash_texts(words, ends, hashes)
            self._n = number_texts(words, ends, hashes, table, self._n, numbers)
        return numbers


@uncounted
def hash_texts(words: np.ndarray, ends: np.ndarray, hashes: np.ndarray) -> None:
    """Find the end of each string, and hash it."""
    p = 0
    for i in range(len(ends)):
        code = _MULTIPLIER
        word = words[p]
        zeros = (word - _ONES) & ~word & _HIGH  # lowest bit: in the first byte that is zero
        while zeros == 0:
            code = (code ^ word) * _MULTIPLIER
            code ^= code >> _HALF
            p += 8
            word = words[p]
            zeros = (word - _ONES) & ~word & _HIGH
        first = (zeros & (~zeros + _1)) >> _7  # 1 << 8 * k for the first zero byte k
        code = (code ^ (word & (first - _1))) * _MULTIPLIER
        code ^= code >> _HALF
        hashes[i] = code * _MULTIPLIER
        ends[i] = p + np.int64((first * _PLACES) >> _56)
        p = ends[i] + 1


@inlined
def _fetch(hashes: np.ndarray, i: int, table: _Table) -> None:
    """Begin to load what the strings some places after i will be compared with.

    Each step needs what the one before it loaded: first the slot, then the place of the text, then
    the text.
    """
    slots, starts, _, text = table
    n_slots = _U64(len(slots))
    last = len(hashes) - 1
    half = hashes[min(i + 3 * _AHEAD, last)] >> _HALF
    # three loads hang on each other: slot, start, text; each is asked for a few strings ahead
    prefetch(slots, np.int64((half * n_slots) >> _HALF))
    half = hashes[min(i + 2 * _AHEAD, last)] >> _HALF
    entry = slots[np.int64((half * n_slots) >> _HALF)]
    if entry >> _HALF == half:
        prefetch(starts, np.int64(entry & _EMPTY))
    half = hashes[min(i + _AHEAD, last)] >> _HALF
    entry = slots[np.int64((half * n_slots) >> _HALF)]
    if entry >> _HALF == half:
        prefetch(text, starts[np.int64(entry & _EMPTY)])


@uncounted
def number_texts(
    words: np.ndarray,
    ends: np.ndarray,
    hashes: np.ndarray,
    table: _Table,
    n: int,
    numbers: np.ndarray,
) -> int:
    """Number the strings; return n, how many distinct ones are known now.

    A new string gets the next number, or -1 if there is no room in `starts`.
    """
    slots, starts, known, _ = table
    start = 0
    for i in range(len(ends)):
        _fetch(hashes, i, table)
        end = ends[i]
        half = hashes[i] >> _HALF
        slot: int | np.int64 = np.int64((half * _U64(len(slots))) >> _HALF)
        number: int | np.int64 = -1
        while number < 0 and slots[slot] != _EMPTY:
            # half of the hash first: strings that differ are seldom read
            if slots[slot] >> _HALF == half:
                number = np.int64(slots[slot] & _EMPTY)
                p = start
                q = starts[number]
                # eight bytes at a time
                while p + 8 <= end and words[p] == known[q]:
                    p += 8
                    q += 8
                # of the last word only the bytes before `end`, and the zero, are the string's
                if p + 8 <= end or (words[p] ^ known[q]) << (_8 * _U64(p + 7 - end)) != 0:
                    number = -1
            if number < 0:
                # the slot next to it, as that is in the cache already
                slot = slot + 1 if slot + 1 < len(slots) else 0
        if number < 0 and n + 1 < len(starts):
            number = n
            slots[slot] = half << _HALF | _U64(n)
            # whole words, with a few bytes too many, which the next string overwrites
            for b in range(0, end + 1 - start, 8):
                known[starts[n] + b] = words[start + b]
            starts[n + 1] = starts[n] + end + 1 - start
            n += 1
        numbers[i] = number
        start = end + 1
    return n


@uncounted
def copy_text(source: np.ndarray, p: Index, target: np.ndarray, q: Index) -> np.int64:
    """Copy the string at p, the zero after it and a few bytes more; return its length."""
    n = 0
    word = source[p]
    zeros = (word - _ONES) & ~word & _HIGH
    while zeros == 0:
        target[q + n] = word
        n += 8
        word = source[p + n]
        zeros = (word - _ONES) & ~word & _HIGH
    target[q + n] = word
    first = (zeros & (~zeros + _1)) >> _7
    return n + np.int64((first * _PLACES) >> _56)


@uncounted
def write_pairs(
    keys: np.ndarray, separator: np.ndarray, texts: np.ndarray, kinds: np.ndarray, names: np.ndarray
) -> None:
    """Write what `join_pairs` returns."""
    # a plain 0 is a type of its own, for which copy_text would be compiled once more
    begin = np.int64(0)
    p = q = r = begin
    for i in range(len(kinds)):
        n = copy_text(keys, p, names, q)
        p += n + 1
        if kinds[i] > 0:
            q += n
        if kinds[i] > 1:
            q += copy_text(separator, begin, names, q)
            n = copy_text(texts, r, names, q)
            q += n
            r += n
        if kinds[i] > 0:
            q += 1
        r += 1
