"""In which order the nodes of a graph are summed out, so that tables stay small."""

from __future__ import annotations

import heapq
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel

__all__ = ["Elimination", "Links", "eliminated", "linked"]

# which node comes next: as numbered, that of the least degree, that which adds the fewest links
RULES = (0, 1, 2)
# numbers that no memory holds; a step that would link thousands of nodes is not begun
LARGEST = 2.0**40
# neighbours of a node above which the links that it adds are not counted, but bounded
MOST_COUNTED = 32


class Links(NamedTuple):
    """The neighbours of each node, ``others[bounds[i] : bounds[i + 1]]``, each once."""

    bounds: np.ndarray
    others: np.ndarray


class Elimination(NamedTuple):
    """Steps, each of which sums out one node.

    ``nodes`` (n) says which. The table of step s is over ``scopes[bounds[s] : bounds[s + 1]]``: the
    node itself, then those that it depends on by then, in the order in which they are summed out.
    ``parent`` (n) is the step of the first of those, -1 where there are none. ``numbers`` is the
    size of all tables together. Nodes of one label are in no scope but their own.
    """

    nodes: np.ndarray
    bounds: np.ndarray
    scopes: np.ndarray
    parent: np.ndarray
    numbers: float


class _Net(NamedTuple):
    """Nodes with lists of neighbours, to which neighbours are added.

    ``first`` (n) and ``then`` say at which entries of ``to`` the list of a node begins and goes on,
    -1 at its end. ``alive`` (n) are those that are not summed out, ``degree`` (n) how many
    neighbours are alive.
    """

    first: np.ndarray
    then: np.ndarray
    to: np.ndarray
    alive: np.ndarray
    degree: np.ndarray


def linked(n: int, cliques: list[np.ndarray]) -> Links:
    """Who stands in a clique with whom, of tables (n_cliques, r) of nodes below n."""
    pairs = [nodes[:, ends] for nodes in cliques for ends in permutations(range(nodes.shape[1]), 2)]
    every = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
    codes = np.unique(every @ np.array([n, 1]))
    return Links(np.searchsorted(codes, np.arange(n + 1) * n), codes % max(n, 1))


def eliminated(links: Links, sizes: np.ndarray, most: float) -> Elimination | None:
    """The best of some orders for nodes with ``sizes[i]`` labels; None if the tables of each would
    have more than `most` numbers, or 2 ** 40.
    """
    most = min(most, LARGEST)
    n = len(sizes)
    best = None
    for rule in RULES:
        nodes = np.empty(n, np.int64)
        lengths = np.empty(n, np.int64)
        numbers = _order_nodes(links, sizes, rule, most, (nodes, lengths))
        if numbers <= most and (best is None or numbers < most):
            best = nodes, lengths
            # others must be better, or are given up
            most = numbers
    if best is None:
        return None
    nodes, lengths = best
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    steps = Elimination(nodes, bounds, np.empty(bounds[-1], np.int64), np.full(n, -1), most)
    _write_steps(links, sizes, steps)
    return steps


@kernel
def _order_nodes(
    links: Links, sizes: np.ndarray, rule: int, most: float, out: tuple[np.ndarray, np.ndarray]
) -> float:
    """Write the order of a rule, and how many nodes each scope has; the numbers of all tables.
    Given up where these are more than `most`.
    """
    nodes, lengths = out
    n = len(sizes)
    net = _net(links, sizes)
    used = len(net.to)
    scope = np.empty(n, np.int64)
    keys = np.empty(n, np.int64)
    seen = np.zeros(n, np.int64)  # the step at which a key was made
    # keys and nodes in one number each, as the least of numbers is found faster
    queue: Any = [np.int64(v) for v in range(n)]
    for v in range(n):
        keys[v] = _key(net, rule, v)
        queue[v] = keys[v] * n + v
    heapq.heapify(queue)
    numbers = 0.0
    s = 0
    while s < n:
        key, v = divmod(heapq.heappop(queue), n)
        # else its key has changed, and it stands there once more
        if not net.alive[v] or key != keys[v]:
            continue
        d = net.degree[v]
        numbers += _take(net, v, sizes, scope)
        nodes[s] = v
        lengths[s] = d + 1
        s += 1
        if numbers > most:
            break
        net = _with_room(net, used + d * (d - 1))
        used = _connect(net, scope[1 : d + 1], used)
        if rule > 0:
            _renew(net, rule, scope[1 : d + 1], (keys, seen, s), queue)
    return numbers


@kernel
def _write_steps(links: Links, sizes: np.ndarray, steps: Elimination) -> None:
    """Fill the scopes of steps, and the parents."""
    n = len(sizes)
    net = _net(links, sizes)
    used = len(net.to)
    rank = np.empty(n, np.int64)
    for s in range(n):
        rank[steps.nodes[s]] = s
    for s in range(n):
        scope = steps.scopes[steps.bounds[s] : steps.bounds[s + 1]]
        d = len(scope) - 1
        _take(net, steps.nodes[s], sizes, scope)
        net = _with_room(net, used + d * (d - 1))
        used = _connect(net, scope[1:], used)
        for i in range(2, d + 1):
            v = scope[i]
            j = i
            while j > 1 and rank[scope[j - 1]] > rank[v]:
                scope[j] = scope[j - 1]
                j -= 1
            scope[j] = v
        if d > 0:
            steps.parent[s] = rank[scope[1]]


@kernel
def _net(links: Links, sizes: np.ndarray) -> _Net:
    n = len(sizes)
    first = np.full(n, -1)
    degree = np.zeros(n, np.int64)
    then = np.empty(len(links.others), np.int64)
    to = np.empty(len(links.others), np.int64)
    for v in range(n):
        for e in range(links.bounds[v], links.bounds[v + 1]):
            to[e] = links.others[e]
            # nothing depends on a label that is known
            if sizes[v] > 1 and sizes[to[e]] > 1:
                then[e] = first[v]
                first[v] = e
                degree[v] += 1
    return _Net(first, then, to, np.full(n, True), degree)


@kernel
def _with_room(net: _Net, length: int) -> _Net:
    """The same lists, with room for `length` entries."""
    if length <= len(net.to):
        return net
    return _Net(
        net.first, _longer(net.then, length), _longer(net.to, length), net.alive, net.degree
    )


@kernel
def _longer(array: np.ndarray, length: int) -> np.ndarray:
    """A copy with room for at least `length` numbers, and for some more."""
    longer = np.empty(2 * length, np.int64)
    # number by number: an assignment to a slice takes seconds to compile
    for i in range(len(array)):
        longer[i] = array[i]
    return longer


@kernel
def _key(net: _Net, rule: int, v: int) -> int:
    """What a rule takes the least of."""
    d = net.degree[v]
    if rule == 0:
        return v
    if rule == 1:
        return int(d)
    links = d * (d - 1) // 2
    if d > MOST_COUNTED:
        return int(links)
    e = net.first[v]
    while e >= 0:
        other = net.then[e]
        while other >= 0 and net.alive[net.to[e]]:
            if net.alive[net.to[other]] and _are_linked(net, net.to[e], net.to[other]):
                links -= 1
            other = net.then[other]
        e = net.then[e]
    return int(links)


@kernel
def _are_linked(net: _Net, a: int, b: int) -> bool:
    if net.degree[a] > net.degree[b]:
        a, b = b, a
    e = net.first[a]
    while e >= 0:
        if net.to[e] == b:
            return True
        e = net.then[e]
    return False


@kernel
def _take(net: _Net, v: int, sizes: np.ndarray, scope: np.ndarray) -> float:
    """Sum out a node: fill its scope; the numbers of its table."""
    net.alive[v] = False
    scope[0] = v
    numbers = float(sizes[v])
    i = 1
    e = net.first[v]
    while e >= 0:
        u = net.to[e]
        if net.alive[u]:
            scope[i] = u
            numbers *= sizes[u]
            net.degree[u] -= 1
            i += 1
        e = net.then[e]
    return numbers


@kernel
def _connect(net: _Net, nodes: np.ndarray, used: int) -> int:
    """Link all of the nodes with each other; how many entries of lists are used then."""
    for i in range(len(nodes)):
        for j in range(i):
            a = nodes[i]
            b = nodes[j]
            if not _are_linked(net, a, b):
                used = _add_link(net, a, b, used)
                used = _add_link(net, b, a, used)
    return used


@inlined
def _add_link(net: _Net, a: int, b: int, used: int) -> int:
    net.to[used] = b
    net.then[used] = net.first[a]
    net.first[a] = used
    net.degree[a] += 1
    return used + 1


@kernel
def _renew(
    net: _Net,
    rule: int,
    nodes: np.ndarray,
    known: tuple[np.ndarray, np.ndarray, int],
    queue: Any,
) -> None:
    """Look again at the nodes whose links have changed; at their neighbours, too, if links among
    neighbours count.
    """
    for v in nodes:
        _renew_one(net, rule, v, known, queue)
        if rule < 2 or net.degree[v] > MOST_COUNTED:
            continue
        e = net.first[v]
        while e >= 0:
            if net.alive[net.to[e]]:
                _renew_one(net, rule, net.to[e], known, queue)
            e = net.then[e]


@kernel
def _renew_one(
    net: _Net, rule: int, v: int, known: tuple[np.ndarray, np.ndarray, int], queue: Any
) -> None:
    keys, seen, s = known
    if seen[v] == s:
        return
    seen[v] = s
    key = _key(net, rule, v)
    if key != keys[v]:
        keys[v] = key
        heapq.heappush(queue, key * len(keys) + v)
