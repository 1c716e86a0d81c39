"""Trees for tests: drawn ones, and ours as nested tuples (label, child, ...), for twins that
recurse.
"""

from __future__ import annotations

from hypothesis import strategies as st

from sklearn_struct.encoding.trees.brackets import Tree

LABELS = [
    "S",
    "NP",
    "VP",
    "X",
    "A+B",
    "@X",
    "NP-SBJ",
    "NP=2",
    "S-TPC-1",
    "PRT",
    "ADVP",
    "ADVP|PRT",
    "ROOT",
    "TOP",
]
TAGS = ["N", "V", "NP", "-LRB-", "-NONE-", ".", ",", "''", "N-1"]
WORDS = ["a", "b", "*-1", "-LRB-", "1\\/2", "+", "é"]


def flat(nested):
    """Ours of a nested tuple."""
    labels = []
    arity = []

    def walk(node):
        labels.append(node if isinstance(node, str) else node[0])
        arity.append(0 if isinstance(node, str) else len(node) - 1)
        for child in () if isinstance(node, str) else node[1:]:
            walk(child)

    walk(nested)
    return Tree(tuple(labels), tuple(arity))


def nested(tree):
    """A nested tuple of ours."""
    ahead = iter(zip(tree.labels, tree.arity))

    def walk():
        label, n = next(ahead)
        return (label, *(walk() for _ in range(n))) if n else label

    return walk()


def trees(labels=LABELS, tags=TAGS, words=WORDS, roots=("", "S", "TOP")):
    """Trees whose words stand alone below tags."""
    tag = st.tuples(st.sampled_from(tags), st.sampled_from(words))
    phrase = st.recursive(
        tag,
        lambda below: st.builds(
            lambda label, children: (label, *children),
            st.sampled_from(labels),
            st.lists(below, min_size=1, max_size=5),
        ),
        max_leaves=12,
    )
    root = st.builds(lambda label, node: (label, node), st.sampled_from(roots), phrase)
    return (phrase | root).map(flat)


def deep(n, *, kind):
    """A tree of depth n: a chain, or branching to the left, to the right, or to both sides."""
    left = (("N", "a"),) * (kind in ("left", "both"))
    right = (("V", "b"),) * (kind in ("right", "both"))
    labels = []
    arity = []
    closing = []
    for depth in range(n):
        labels += "XY"[depth % 2], *(name for node in left for name in node)
        arity += 1 + len(left) + len(right), *(1 - i for node in left for i in range(2))
        closing += [(name, 1 - i) for node in right for i, name in enumerate(node)]
    labels += "N", "c", *(name for name, _ in closing)
    arity += 1, 0, *(n for _, n in closing)
    return Tree(tuple(labels), tuple(arity))
