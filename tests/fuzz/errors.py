"""Whether an error is one that somebody wrote for whoever reads it."""

from __future__ import annotations

import dis
import re
import traceback
from pathlib import Path

import sklearn

import sklearn_struct

AUTHORS = tuple(Path(package.__file__).parent for package in (sklearn_struct, sklearn))
FRAMES = re.compile(r'File "(.+)", line \d+, in .+\n +(.+)')
KINDS = ValueError, TypeError, AttributeError, MemoryError


def is_clear(error: BaseException, kinds: tuple[type, ...] = KINDS) -> bool:
    """Whether a `raise` of ours or of scikit-learn's made it, and it is of one of these kinds.

    What numpy, scipy, a kernel or Python itself raises says nothing about the place and the remedy.
    """
    if error.__cause__ is not None and type(error.__cause__).__name__ == "_RemoteTraceback":
        return isinstance(error, kinds) and _is_raised(str(error.__cause__))
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    opcode = frame.f_code.co_code[last.tb_lasti]
    file = Path(frame.f_code.co_filename)
    raised = dis.opname[opcode] == "RAISE_VARARGS"
    return isinstance(error, kinds) and raised and any(map(file.is_relative_to, AUTHORS))


def _is_raised(told_by_worker: str) -> bool:
    """The same of a traceback in words, as a process of joblib's sends it."""
    file, line = FRAMES.findall(told_by_worker)[-1]
    return line.startswith("raise ") and any(map(Path(file).is_relative_to, AUTHORS))


def told(error: BaseException) -> str:
    """An error as a verdict: its type, what it says, and the line that it comes from."""
    [place] = traceback.extract_tb(error.__traceback__)[-1:]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"{type(error).__name__}: {error} ({where})"
