"""A generated treebank whose labels hide what decides between parses; it needs no download."""

from __future__ import annotations

import numbers
from bisect import bisect_right
from itertools import accumulate

import numpy as np
from sklearn.utils import check_random_state

from sklearn_struct.encoding.trees.brackets import Tree, format_tree, words

__all__ = ["draw", "make_treebank", "without_states"]

# A grammar: alternatives are parted by "|" and begin with their weights. A name is a label and,
# behind a dot, a state that the treebank does not show; what is no key is a word. A name that
# becomes another of the same label makes no node of its own. Of the states, s and p are singular
# and plural; people (h) can have a place, things (t) cannot; nouns (r) have a complement; verbs
# stand alone (i) or with an object (o), two (d), a clause (c), or an object and a clause (b).
GRAMMAR = {
    "S": "11 NP.s VP.s | 8 NP.p VP.p | 1 S C S",
    "NP": "1 NP.s | 1 NP.p",
    "NP.s": "3 NP.sh | 1 NP.st",
    "NP.p": "6 NP.ph | 2 NP.pt | 1 NP C NP",
    "NP.sh": "5 D.s N.sh | 2 D.s A N.sh | 3 E | 6 NP.sh PP.place | 3 NP.sh SBAR.s"
    " | 1 D.s N.rs PP.of",
    "NP.ph": "5 D.p N.ph | 2 D.p A N.ph | 2 A N.ph | 6 NP.ph PP.place | 3 NP.ph SBAR.p"
    " | 1 D.p N.rp PP.of",
    "NP.st": "3 D.s N.st | 1 D.s A N.st",
    "NP.pt": "2 D.p N.pt | 1 D.p A N.pt | 2 A N.pt",
    "NP.time": "2 D.s N.time | 1 D.s A N.time",
    "VP.s": "1 VP.si | 1 VP.so",
    "VP.p": "1 VP.pi | 1 VP.po",
    "VP.si": "5 V.si | 2 V.sc SBAR.c | 3 VP.si PP.time",
    "VP.pi": "5 V.pi | 2 V.pc SBAR.c | 3 VP.pi PP.time",
    "VP.so": "6 V.so NP | 4 V.sd NP PP.to | 1 V.sb NP SBAR.c | 4 VP.so PP.tool",
    "VP.po": "6 V.po NP | 4 V.pd NP PP.to | 1 V.pb NP SBAR.c | 4 VP.po PP.tool",
    "SBAR.s": "1 W VP.s",
    "SBAR.p": "1 W VP.p",
    "SBAR.c": "1 W.c S",
    "PP.of": "1 P.of NP",
    "PP.to": "1 P.to NP",
    "PP.place": "1 P.place NP.st | 1 P.place NP.pt",
    "PP.time": "1 P.time NP.time",
    "PP.tool": "1 P.tool NP.st | 1 P.tool NP.pt",
    "A": "1 tall | 1 small | 1 long | 1 quiet | 1 red | 1 strange | 1 famous",
    "C": "1 and",
    "D.s": "4 the | 3 a | 1 this | 1 every",
    "D.p": "4 the | 2 some | 1 these | 1 many",
    "E": "1 Ann | 1 Bob | 1 Clara | 1 Dan | 1 Eve | 1 Finn",
    "N.sh": "2 child | 2 woman | 2 doctor | 1 student | 1 man | 1 cook | 1 sheep",
    "N.ph": "2 children | 2 women | 2 doctors | 1 students | 1 men | 1 cooks | 1 sheep",
    "N.rs": "2 friend | 2 picture | 1 owner | 1 part",
    "N.rp": "2 friends | 2 pictures | 1 owners | 1 parts",
    "N.st": "2 house | 2 book | 1 garden | 1 spoon | 1 ship | 1 picture",
    "N.pt": "2 houses | 2 books | 1 gardens | 1 spoons | 1 ships | 1 pictures",
    "N.time": "2 night | 1 winter | 1 lesson | 1 war | 1 meal",
    "P.of": "1 of",
    "P.to": "3 to | 1 for",
    "P.place": "2 near | 2 behind | 2 in | 1 with",
    "P.time": "2 during | 2 after | 1 before | 1 in",
    "P.tool": "3 with | 2 without | 1 in",
    "V.si": "2 sleeps | 2 runs | 1 laughs | 1 waits | 1 fell",
    "V.pi": "2 sleep | 2 run | 1 laugh | 1 wait | 1 fell",
    "V.so": "2 sees | 2 likes | 1 follows | 1 paints | 1 met | 1 runs",
    "V.po": "2 see | 2 like | 1 follow | 1 paint | 1 met | 1 run",
    "V.sd": "2 gives | 2 brings | 1 sells | 1 sent",
    "V.pd": "2 give | 2 bring | 1 sell | 1 sent",
    "V.sc": "2 says | 2 knows | 1 sees | 1 thought",
    "V.pc": "2 say | 2 know | 1 see | 1 thought",
    "V.sb": "2 tells | 1 shows | 1 told",
    "V.pb": "2 tell | 1 show | 1 told",
    "W": "1 that | 2 who",
    "W.c": "1 that",
}
_ROWS = {name: [choice.split() for choice in text.split("|")] for name, text in GRAMMAR.items()}
RULES = {
    name: (list(accumulate(int(weight) for weight, *_ in rows)), [below for _, *below in rows])
    for name, rows in _ROWS.items()
}  # cumulative weights, and what stands below the name
MAX_WORDS = 40


def make_treebank(
    n_samples: int = 100, *, random_state: int | np.random.RandomState | None = None
) -> tuple[list[list[str]], list[str]]:
    """Generate sentences and the trees over them, from a small grammar with hidden states.

    Four things decide where a prepositional phrase or a clause is attached: number (*the dogs near
    the house that run*), the arguments of the verb, the kind of preposition, and which nouns can be
    at a place. The labels do not show these things: they are S, NP, VP, PP and SBAR for phrases,
    and A, C, D, E, N, P, V and W for words. A grammar of these labels gets three times as many
    brackets wrong as one that knows the states.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    n_samples : int, default=100
        Number of trees.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; an int gives the same trees in each call.

    Returns
    -------
    X : list of list of str
        The words of each sentence, 2 to 40, on average 13.
    y : list of str
        Their trees, in brackets.

    Raises
    ------
    ValueError
        If `n_samples` is negative or not an integer.

    See Also
    --------
    fetch_treebank_sample : Trees of newspaper text.
    read_treebank : Trees of your own.

    Examples
    --------
    >>> from sklearn_struct.datasets import make_treebank
    >>> X, y = make_treebank(n_samples=2, random_state=0)
    >>> X[1]
    ['the', 'cooks', 'fell', 'in', 'a', 'night']
    >>> y[1]
    '(S (NP (D the) (N cooks)) (VP (VP (V fell)) (PP (P in) (NP (D a) (N night)))))'
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 0:
        raise ValueError(f"n_samples must be an integer, not negative, got {n_samples!r}")
    rng = check_random_state(random_state)
    trees = [draw(rng) for _ in range(n_samples)]
    return [words(tree) for tree in trees], [format_tree(without_states(tree)) for tree in trees]


def draw(rng: np.random.RandomState) -> Tree:
    """A tree with its states, drawn again if it is too long."""
    while True:
        labels: list[str] = []
        arity: list[int] = []
        ahead = ["S"]
        while ahead:
            name = ahead.pop()
            if name not in RULES:
                labels.append(name)
                arity.append(0)
                continue
            weights, choices = RULES[name]
            below = choices[bisect_right(weights, rng.random_sample() * weights[-1])]
            ahead += reversed(below)
            if len(below) > 1 or _label(below[0]) != _label(name):
                labels.append(name)
                arity.append(len(below))
        if arity.count(0) <= MAX_WORDS:
            return Tree(tuple(labels), tuple(arity))


def without_states(tree: Tree) -> Tree:
    """The tree as the treebank shows it."""
    return Tree(tuple(_label(label) if n else label for label, n in zip(*tree)), tree.arity)


def _label(name: str) -> str:
    return name.partition(".")[0]
