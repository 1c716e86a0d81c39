"""Parameters of estimators: declared as fields, documented where they are declared.

    @with_parameters
    class PiecewiseCRF(BaseOnlineChain):
        '''Linear-chain conditional random field, trained piecewise.

        Parameters
        ----------
        piece_size : int, default=1
            1 for single factors, else the tokens of a small chain.
        '''

        piece_size: int = 1
        _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
            "piece_size": [Interval(Integral, 1, None, closed="left")],
        }

The class gets an ``__init__`` that assigns its parameters and those of its bases, constraints of
all of them, and a docstring whose sections Parameters and Attributes are complete. What a class
documents again replaces what a base says. ``field(default=None, kw_only=False)`` is a parameter
that may be given without its name, ``field(init=False)`` an attribute that is learned, or with a
default one that takes the place of a parameter of a base.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

__all__ = ["with_parameters"]

T = TypeVar("T")
SECTIONS = ("Parameters", "Attributes")
# a section of numpydoc that may follow these
LATER = ("Methods", "See Also", "Notes", "References", "Examples")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(cls: type[T]) -> type[T]:
    """Make fields of a class its parameters, as the module says."""
    made: Any = dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)
    own = inspect.get_annotations(made)
    names = _in_order(made)
    for name in own:
        if name in names:
            # a parameter is an attribute of estimators, not of classes
            delattr(made, name)
    signature = inspect.signature(made.__init__)
    arguments = [signature.parameters[name] for name in ("self", *names)]
    # a signature must have positional ones first; sorting keeps the order among the others
    made.__init__.__signature__ = signature.replace(
        parameters=sorted(arguments, key=lambda argument: argument.kind)
    )
    constraints: dict[str, list[Any]] = {}
    # what a subclass says of a parameter takes the place of what its bases say
    for base in reversed(made.__mro__):
        constraints |= vars(base).get("_parameter_constraints", {})
    # a parameter of a base that a class has no use for is an attribute of the class
    for one in fields(made):
        if not one.init:
            constraints.pop(one.name, None)
    made._parameter_constraints = constraints
    if made.__doc__:  # Python can be told to have none
        text = inspect.cleandoc(made.__doc__)
        made._documented = {title: _entries(text, title) for title in SECTIONS}
        made.__doc__ = _complete(text, made, names)
    return cls


def _in_order(cls: Any) -> list[str]:
    """Names of parameters: those of a class before those of its bases."""
    known = {one.name for one in fields(cls) if one.init}
    declared = [name for base in cls.__mro__ for name in inspect.get_annotations(base)]
    return [name for name in dict.fromkeys(declared) if name in known]


# ---- docstrings


def _complete(text: str, cls: Any, names: list[str]) -> str:
    """A docstring with sections of what the class and its bases document."""
    parameters = _documented(cls, "Parameters")
    entries = {
        "Parameters": [parameters[name] for name in names if name in parameters],
        "Attributes": list(_documented(cls, "Attributes").values()),
    }
    lines = text.splitlines()
    for title in SECTIONS:
        start, stop = _place(lines, title)
        del lines[start:stop]
    place = min((_place(lines, title)[0] for title in LATER), default=len(lines))
    made = [
        line
        for title in SECTIONS
        if entries[title]
        for line in (title, "-" * len(title), *entries[title], "")
    ]
    before = "\n".join(lines[:place]).rstrip()
    return "\n".join([before, "", *made, *lines[place:]]).rstrip() + "\n"


def _documented(cls: Any, title: str) -> dict[str, str]:
    """By name what is said of it, by the nearest class that says something."""
    entries: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        entries |= vars(base).get("_documented", {}).get(title, {})
    # attributes of a base that a class has no use for
    unused = getattr(cls, "_undocumented", ())
    return {name: said for name, said in entries.items() if name not in unused}


def _entries(text: str, title: str) -> dict[str, str]:
    """The entries of a section by the names before their colons."""
    lines = text.splitlines()
    start, stop = _place(lines, title)
    entries: dict[str, list[str]] = {}
    name = ""
    for line in lines[start + 2 : stop]:
        if line and not line.startswith(" "):
            name = line.partition(" : ")[0]
            entries[name] = []
        entries[name].append(line)
    return {name: "\n".join(said).rstrip() for name, said in entries.items()}


def _place(lines: list[str], title: str) -> tuple[int, int]:
    """From the title of a section to the next one; the end of the docstring if it has none."""
    titles = [i for i, line in enumerate(lines[1:]) if line and not line.strip("-")]
    start = next((i for i in titles if lines[i] == title), len(lines))
    stop = next((i for i in titles if i > start), len(lines))
    return start, stop
