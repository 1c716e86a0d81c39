"""Ctrl-C at any moment of any call of a public estimator: an answer at once, and an estimator as it
was.

A case fits an estimator and makes a call three times: once to load its kernels, once with a timer
that tells how long Python cannot hear a signal, and once while another process sends SIGINT at a
random moment. Processor time is what counts, as machines may be busy; only if nothing is done it is
the time on the clock.
"""

from __future__ import annotations

import gc
import inspect
import os
import signal
import struct
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from public_estimators import public_classes

from fuzz.subjects import Subject, answer, made, network, quietly, subjects, with_cliques
from sklearn_struct import GraphArray, SequenceArray
from sklearn_struct.datasets import make_treebank

PROMPT = 0.2  # seconds of work
PATIENT = 5.0  # seconds on the clock
PATIENCE = 600.0
# Calls into LAPACK, ARPACK and SuperLU, which end when their work is done; `safecall` is scipy's of
# a QR decomposition.
CALLS = "eigh", "eigsh", "factorized", "qr", "safecall", "solve", "splu", "spsolve", "svd", "svds"
AFTER = "answered after one call of "
GOOD = {"answered", "done before", *(AFTER + name for name in CALLS)}
LIBRARIES = "numpy/linalg", "scipy/linalg", "scipy/sparse/linalg"
FITS = "fit", "fit_transform", "partial_fit"
TRIES = 4
TICK = 0.005  # seconds

TOKENS = 5000
SHAPES = {"many": (TOKENS // 20, 20), "long": (1, TOKENS)}  # number of sequences, tokens of each
N_TREES = {"many": 200, "long": 15}
COMMON = "the", "dog", "cat", "a", "."
TAGS = "DET", "NOUN", "VERB", ".", "ADJ", "ADV", "PRON"


class Call(NamedTuple):
    """What is interrupted: a method of an estimator, with data of some shape."""

    subject: Subject
    shape: str
    method: str


class Moment(NamedTuple):
    """Seconds of work of this process, and on the clock."""

    work: float
    clock: float


class Silence(NamedTuple):
    """The longest time within which Python heard no signal, and where it ended."""

    begin: Moment
    end: Moment
    where: str


class Interrupt(NamedTuple):
    """When Ctrl-C was sent, heard by Python, and where, and when the call ended; what it raised."""

    sent: Moment
    heard: Moment | None
    where: str
    ended: Moment
    raised: BaseException | None


# ---------------------------------------------------------------- data that take a while


@cache
def data(form: str, shape: str) -> tuple[Any, Any]:
    """As `FORMS` of `subjects`, but more."""
    if form == "trees":
        return trees(shape)
    rng = np.random.default_rng(0)
    size = n, length = SHAPES[shape]
    codes = np.minimum(rng.zipf(1.3, size=size) - 1, 2000)
    words = [
        [COMMON[code] if code < len(COMMON) else f"word{code}" for code in row] for row in codes
    ]
    tags = [[TAGS[code % len(TAGS)] for code in row] for row in codes]
    numbers = rng.normal(size=(n, length, 3)) + codes[:, :, None] % len(TAGS)
    X: Any = words
    if form == "columns":
        X = [[(word, word[-1]) for word in sentence] for sentence in words]
    elif form == "dicts":
        X = [[{"word": word, "size": len(word)} for word in sentence] for sentence in words]
    elif form == "embeddings":
        vectors = dict(zip(COMMON, rng.normal(size=(len(COMMON), 20))))
        X = [
            [{"word": word, "vector": vectors.get(word, np.zeros(20))} for word in sentence]
            for sentence in words
        ]
    elif form == "lists":
        X = [[[word, word[-1]] for word in sentence] for sentence in words]
    elif form in ("numbers", "sparse", "packed", "classes of numbers"):
        X = list(numbers.clip(0))
        X = [sp.csr_array(rows) for rows in X] if form == "sparse" else X
        X = SequenceArray.from_sequences(X) if form == "packed" else X
    elif form in GRAPHS:
        X = [GRAPHS[form](sentence, chords(length)) for sentence in words]
    elif form == "packed graphs":
        edges = [chords(length)] * n
        X = GraphArray(list(numbers), edges, [np.ones((len(table), 2)) for table in edges])
    elif form == "labels of rows":
        return numbers.reshape(-1, 3), (codes.reshape(-1, 1) % [2, 3, 5] == 0).astype(int)
    elif "images" in form:
        return images(form, *SHAPES[shape])
    elif form == "pairs of labels":
        tags = [[(tag, len(tag)) for tag in row] for row in tags]
    if form == "rows":
        # of two classes, which all read
        return numbers.reshape(-1, 3), np.where(codes.ravel() % 2, "A", "B")
    if form == "inputs":
        return [word for row in words for word in row], [tag for row in tags for tag in row]
    if form.startswith("classes"):
        return X, [row[0] for row in tags]
    if form == "numbers":
        return X, [[len(tag) for tag in row] for row in tags]
    return X, tags


def images(form: str, n: int, n_pixels: int) -> tuple[Any, Any]:
    """Of blocks that are seen dimly; as many as the classes of `subjects` have."""
    rng = np.random.default_rng(0)
    height = 4 if n > 1 else 50
    y = np.repeat(rng.integers(2, size=(n, height, n_pixels // (2 * height))), 2, axis=2)
    X = np.eye(2)[y] + rng.normal(size=(*y.shape, 2))
    if form == "packed images":
        return X, y
    return list(zip(X, X)) if form == "images with pictures" else list(X), list(y)


def chords(length: int) -> list[list[int]]:
    """The edges of a path, and some that make triangles of it."""
    edges = [[i, i + 1] for i in range(length - 1)]
    return edges + [[i, i + 2] for i in range(0, length - 2, 4)]


GRAPHS = {
    "graphs": lambda words, edges: (words, edges),
    "kinds of edges": lambda words, edges: (words, edges, [{"far": b - a} for a, b in edges]),
    "cliques": with_cliques,
    "networks": network,
}


def trees(shape: str) -> tuple[Any, Any]:
    """Some trees, or one of them all."""
    X, y = make_treebank(N_TREES[shape], random_state=0)
    if shape == "many":
        return X, y
    words = list(X[0])
    tree = y[0]
    for more, other in zip(X[1:], y[1:]):
        words += ["and", *more]
        tree = f"(S {tree} (C and) {other})"
    return [words], [tree]


# ---------------------------------------------------------------- cases


@cache
def calls() -> list[list[Call]]:
    """Those of each class, in an order in which the first few are of all kinds."""
    return [shuffled(list(of_class(cls))) for cls in public_classes()]


def of_class(cls: type) -> Iterator[Call]:
    for subject in subjects(cls):
        for name in methods(subject):
            yield from (Call(subject, shape, name) for shape in SHAPES)


def shuffled(found: list[Call]) -> list[Call]:
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def call_of(number: int) -> Call:
    """The classes take turns."""
    turn, place = divmod(number, len(calls()))
    found = calls()[place]
    return found[turn % len(found)]


def methods(subject: Subject) -> list[str]:
    """Public ones that take X, or X and y, and serve this estimator."""
    estimator = subject.fitted()
    return [name for name in dir(estimator) if name[0] != "_" and serves(estimator, name, subject)]


def serves(estimator: Any, name: str, subject: Subject) -> bool:
    if not hasattr(type(estimator), name) or not callable(getattr(estimator, name)):
        return False
    try:
        quietly(bound(estimator, name, subject.X, subject.y))
    except (AttributeError, TypeError, ValueError):  # other arguments or solvers; no states
        return False
    return True


def bound(estimator: Any, name: str, X: Any, y: Any) -> Callable[[], Any]:
    """The call of a method with what it asks for; a TypeError if it asks for anything else."""
    method = getattr(estimator, name)
    parameters = list(inspect.signature(method).parameters.values())
    names = [parameter.name for parameter in parameters]
    if names[:1] != ["X"]:
        raise TypeError(f"{name} does not read data")
    return (lambda: method(X, y)) if names[1:2] == ["y"] else (lambda: method(X))


def prepare() -> None:
    calls()


def family(number: int) -> str:
    call = call_of(number)
    return f"{type(call.subject.estimator).__name__}.{call.method}"


def case(number: int) -> str:
    return tried(call_of(number), np.random.default_rng(number))


def tried(call: Call, rng: np.random.Generator) -> str:
    """What becomes of Ctrl-C during a call."""
    X, y = data(call.subject.form, call.shape)
    settings = call.subject.estimator.get_params(deep=False)
    if "max_iter" in settings:
        long = {"max_iter": 40, "tol": 1e-12}
        settings |= {name: value for name, value in long.items() if name in settings}
    settings |= {"n_jobs": 2} if "n_jobs" in settings and rng.random() < 0.3 else {}
    estimator = made(type(call.subject.estimator), settings)
    quietly(lambda: estimator.fit(X, y))
    function = bound(estimator, call.method, X, y)
    quietly(function)  # kernels are loaded
    # Python looks for garbage without hearing signals: among what a case makes, not among all data
    gc.freeze()
    begin = time.monotonic()
    silence = longest_silence(lambda: quietly(function))
    seconds = time.monotonic() - begin
    said = verdict_of_silence(silence)
    for chance in range(TRIES):
        if said == "done before":
            said = tried_once(estimator, call, rng.random() * seconds / 2**chance)
    return said


def tried_once(estimator: Any, call: Call, delay: float) -> str:
    """The same at one moment: a fit that fails changes nothing, and all goes on as if nothing had
    been.
    """
    form = call.subject.form
    function = bound(estimator, call.method, *data(form, call.shape))
    expected = seen(estimator, form)
    before = dict(vars(estimator))
    interrupt = interrupted(lambda: quietly(function), delay)
    said = verdict(interrupt)
    if interrupt.raised is None:
        return said
    if call.method in FITS and not same_attributes(before, vars(estimator)):
        return f"another estimator: {said}"
    return said if seen(estimator, form) == expected else f"another result: {said}"


def same_attributes(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return before.keys() == after.keys() and all(before[name] is after[name] for name in before)


def seen(estimator: Any, form: str) -> Any:
    """What an estimator makes of a little data."""
    X, y = data(form, "many")
    return plain(quietly(lambda: answer(estimator, X[:3], y[:3])))


def plain(value: Any) -> Any:
    """Lists of what can be compared."""
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, list | tuple | np.ndarray | SequenceArray | GraphArray):
        return [plain(one) for one in value]
    return value


# ---------------------------------------------------------------- Ctrl-C


def longest_silence(call: Callable[[], Any]) -> Silence:
    """While a call is made: of many signals, of which each is heard as late as Ctrl-C would be."""
    last = now(os.getpid())
    longest = Silence(last, last, "the beginning")

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal last, longest
        moment = now(os.getpid())
        while frame is not None and frame.f_code in (hear.__code__, now.__code__):
            frame = frame.f_back  # a signal within the answer to one
        if moment.work - last.work > longest.end.work - longest.begin.work:
            longest = Silence(last, moment, place(frame))
        last = moment

    handler = signal.signal(signal.SIGALRM, hear)
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    return longest


def verdict_of_silence(silence: Silence) -> str:
    """Good where it is short enough for any interrupt."""
    if silence.end.work - silence.begin.work <= PROMPT or silence.where in CALLS:
        return "done before"
    return f"silent: {told(silence.begin, silence.end)} until {silence.where}"


def interrupted(call: Callable[[], Any], delay: float) -> Interrupt:
    """Make a call, and send SIGINT to it after some seconds."""
    heard: list[tuple[Moment, str]] = []
    raised = None
    done = False

    def hear(number: int, frame: FrameType | None) -> None:
        if not done:
            heard.append((now(os.getpid()), place(frame)))
            raise KeyboardInterrupt

    reading, writing = os.pipe()
    handler = signal.signal(signal.SIGINT, hear)
    try:
        # functions that Python calls after forks are no part
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        sender = send(writing, delay)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            call()
            done = True
        except BaseException as error:
            done = True
            raised = error
        ended = now(os.getpid())
        os.waitpid(sender, 0)
        sent = Moment(*struct.unpack("dd", os.read(reading, 16)))
    finally:
        signal.signal(signal.SIGINT, handler)
        os.close(reading)
        os.close(writing)
    moment, where = heard[0] if heard else (None, "")
    return Interrupt(sent, moment, where, ended, raised)


def send(writing: int, delay: float) -> int:
    """Let a process of its own, which no lock of ours can hold up, send the signal; its number."""
    target = os.getpid()
    sender = os.fork()
    if sender == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(delay)
        os.write(writing, struct.pack("dd", *now(target)))
        os.kill(target, signal.SIGINT)
        os._exit(0)
    return sender


def now(process: int) -> Moment:
    clock = time.monotonic()
    try:
        # Linux's number of the clock of a process
        return Moment(time.clock_gettime((~process << 3) | 2), clock)
    except (AttributeError, OSError):
        return Moment(clock, clock)


def place(frame: FrameType | None) -> str:
    """The function of a library of linear algebra that was called, or the line."""
    if frame is None:
        return "nowhere"
    file = Path(frame.f_code.co_filename)
    if any(library in file.as_posix() for library in LIBRARIES):
        return frame.f_code.co_name
    return f"{file.name}:{frame.f_lineno}"


def verdict(interrupt: Interrupt) -> str:
    """What became of it."""
    sent, heard, where, ended, raised = interrupt
    if raised is not None and not isinstance(raised, KeyboardInterrupt):
        return f"{type(raised).__name__}: {raised} ({where})"
    if heard is not None and raised is None:
        return f"swallowed: at {where}"
    if not late(sent, ended):
        return "answered" if raised else "done before"
    if heard is None:
        return f"not heard: {told(sent, ended)}"
    if where in CALLS and not late(heard, ended):
        return AFTER + where
    return f"late: {told(sent, heard)} until {where}, {told(heard, ended)} until the end"


def late(begin: Moment, end: Moment) -> bool:
    return end.work - begin.work > PROMPT or end.clock - begin.clock > PATIENT


def told(begin: Moment, end: Moment) -> str:
    return f"{end.work - begin.work:.2f} s of work, {end.clock - begin.clock:.2f} s"
