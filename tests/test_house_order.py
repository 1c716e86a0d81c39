"""The survey of squares of the number of labels, and of branches on the order, line by line."""

from __future__ import annotations

import ast

import pytest
from survey import order
from survey.source import Module


def module(text):
    return Module("m", "m.py", text, ast.parse(text))


@pytest.mark.parametrize(
    "expression",
    [
        "K * K",
        "K**2",
        "K**3",
        "t * K * K",
        "K * t * K",
        "(i * K + j) * K + k",
        "(K + 1) * K",
        "int(K) * K",
        "np.square(K)",
        "pow(K, 3)",
        "-K * K",
        "self.n_labels * self.n_labels",
        "n_labels**2",
        "a.n_states * b.n_states",
        "len(classes) ** 2",
        "len(self.classes_) * len(self.classes_)",
        "L * L",
        "S**2",
        "n * n",
        "K * K // 2",
        "f(K * K)",
        "x[: K * K]",
    ],
)
def test_squares_and_cubes_of_the_number_of_labels(expression):
    assert [hit.kind for hit in order.hits(module(expression))] == [order.ARITHMETIC]


@pytest.mark.parametrize(
    "expression",
    [
        "j * K + k",
        "(K, K)",
        "np.zeros((K, K, K))",
        "K * n_labels",
        "K + K",
        "K * 2",
        "pair // K % K",
        "mean * mean",
        "n_tokens**2",
        "n * (n + 1) // 2",
        "n**2",
        "'K * K'",
        "len(words) ** 2",
    ],
)
def test_what_is_no_square_of_the_number_of_labels(expression):
    assert order.hits(module(expression)) == []


def test_a_variable_that_holds_the_number_of_labels():
    body = "    m, size = len(tags), n_classes\n    return m * m, size**2, rows * rows"
    text = f"def f(n_classes, rows):\n{body}"
    assert [hit.text for hit in order.hits(module(text))] == ["m * m", "size ** 2"]
    assert order.hits(module("def f(m):\n    return m * m")) == []


def test_an_assignment_that_multiplies():
    assert [hit.kind for hit in order.hits(module("K *= K"))] == [order.ARITHMETIC]


def test_a_general_power_is_listed_and_does_not_count():
    places = order.hits(module("K ** len(family)"))
    assert [hit.kind for hit in places] == [order.GENERAL]
    assert order.files(places) == []


@pytest.mark.parametrize(
    "statement",
    [
        "if order == 2: pass",
        "if self.order > 1: pass",
        "x = a if order == 1 else b",
        "while order: pass",
        "if order and y: pass",
        "if not self.order: pass",
        "x = getattr(estimator, 'order', 1) != 1",
        "if order in (1, 2): pass",
        "match order:\n    case 2: pass",
        "x = K**order",
        "x = tables[:order]",
        "x = tables[order - 1]",
        "x = {1: a, 2: b}[order]",
        "x = KERNELS[order]",
        "for r in range(order): pass",
        "x = np.empty(pattern.edge_width)",
        "if has_triples(potentials): pass",
        "x = isinstance(inference, Chain2)",
        "x = isinstance(inference, chains.SecondOrder)",
        "x = len(structure.families) > 1",
        "x = 2 == len(families)",
        "def f():\n    order = 2",
    ],
)
def test_branches_on_the_order(statement):
    assert {hit.kind for hit in order.hits(module(statement))} == {order.BRANCH}


@pytest.mark.parametrize(
    "statement",
    [
        "def __init__(self, order: int = 1):\n    self.order = order",
        "x = HMM(order=self.order)",
        "x = pattern_of(X, order)",
        "constraints = {'order': [Options(Integral, {1, 2})]}",
        "def f(x):\n    order = np.argsort(x)\n    return x[order], order == 2",
        "def f(x, order: np.ndarray):\n    return order - 1",
        "def f(x, order):\n    return x[order], x[places.order], len(order)",
        (
            "class A:\n    def f(self):\n        self.order = np.lexsort(x)\n"
            "        return -self.order[:5]"
        ),
        "x = np.zeros(3, order='C')",
        "x = order == 'C'",
        "if order is None: pass",
        "edge_width = 3",
        "def edge_width(self): pass",
        "x = isinstance(inference, Chain)",
        "for family in families: pass",
        "x = len(families)",
        "class A:\n    order: int = 1",
        "ORDER = 1",
    ],
)
def test_what_is_no_branch_on_the_order(statement):
    assert order.hits(module(statement)) == []


KNOWS = "from made.containers.structures import Potentials\n"


@pytest.mark.parametrize(
    "statement",
    [
        "if len(batch.potentials.cliques) == 1: pass",
        "if len(cliques): pass",
        "x = ('transition_', 'transition2_')[: len(pattern.families)]",
        "if not pattern.families[1:]: pass",
        "x = bool(families[1:])",
        "for triples in tables[1:]: pass",
        "x = [f(family) for family in structure.families[1:]]",
        "x = cliques[1]",
        "x = families[1].offsets if y else z",
        "pairs, *wider = tables\nx = f(wider) if wider else pairs",
        "node, (pairs, *triples) = marginals\nx = triples[0]",
        "x = potentials.triple.shape[1] > 0",
        "x = 0 == triple.size",
        "width = triple.shape[1]\nif width > 0: pass",
        "if triples and left: pass",
        "if len(self.seconds): pass",
        "x = a if len(triples) else b",
        "if factors.size == 2: pass",
        "x = [family for family in families if family.size > 2]",
        "if family.nodes.shape[1] == 3: pass",
        "x = family.nodes[:, 2]",
        "if transition.ndim == 3: pass",
        "if self.transition_logprob_.ndim != clique_sizes(self.order)[-1]: pass",
        "if x.ndim > families[-1].size: pass",
        "x = a if C == K else b",
        "x = norms.shape[1] > K",
        "x = before * potentials.cliques[0].shape[1] + pairs",
        "x = context * pattern.widths[0]",
        "K = int(np.sqrt(edge.shape[1]))",
        "n_pairs = edge.shape[1]\nK = math.isqrt(n_pairs)",
    ],
)
def test_other_words_for_a_branch_on_the_order(statement):
    assert {hit.kind for hit in order.hits(module(KNOWS + statement))} == {order.BRANCH}


@pytest.mark.parametrize(
    "statement",
    [
        "for table, family in zip(cliques, structure.families): pass",
        "x = families[0].nodes",
        "x = potentials.cliques[0]",
        "x = families[-1].size",
        "x = (edge, *cliques[1:])",
        "pairs, *wider = tables\nx = (f(pairs), *wider)",
        "node, (edge, *wider) = potentials\nfor table in wider: pass",
        "name, *rest = content\nif rest: pass",
        "sizes = clique_sizes(order)[len(families) :]",
        "x = range(len(families))",
        "x = min(m, len(triple) - 1)",
        "x = len(edge) == 1 and len(triple) == 1",
        "x = tables.triple.shape[0] == 1",
        "if pairs.size == size: pass",
        "if array.size == 0: pass",
        "x = nodes[:, -1], nodes[:, 1]",
        "if X.ndim == 3: pass",
        "if labels.shape[1] == K: pass",
        "o = e * edge.shape[1] + k",
        "x = first + widths[0]",
        "x = np.sqrt(variance)",
    ],
)
def test_what_is_general_for_families(statement):
    assert order.hits(module(KNOWS + statement)) == []


def test_tables_are_of_families_where_potentials_are_known():
    for text in ("x = tables[1]", "x = n * widths[1]"):
        assert order.hits(module(text)) == []
        assert {hit.kind for hit in order.hits(module(KNOWS + text))} == {order.BRANCH}


def test_a_power_by_the_number_of_families_counts():
    places = order.hits(module("n_states = K ** len(potentials.cliques)"))
    assert [hit.kind for hit in places] == [order.ARITHMETIC]


def test_each_place_says_where_it_is():
    places = order.hits(module("a = 1\nb = K * K if order == 1 else K**3"))
    assert [(hit.path, hit.line, hit.kind) for hit in places] == [
        ("m.py", 2, order.ARITHMETIC),
        ("m.py", 2, order.ARITHMETIC),
        ("m.py", 2, order.BRANCH),
    ]
    assert order.files(places) == ["m.py"]
