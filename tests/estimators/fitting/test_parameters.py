"""Parameters that are declared as fields, and their documentation."""

from __future__ import annotations

import inspect
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar

import pytest
from public_estimators import PREDICTORS
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval

from sklearn_struct.estimators.fitting.parameters import with_parameters


@with_parameters
class Shared:
    """What both have.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads.
    verbose : int, default=0
        What is printed:

        - 1: a line.

    Attributes
    ----------
    n_iter_ : int
    """

    n_jobs: int | None = None
    verbose: int = 0
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"verbose": ["verbose"]}


class Base(Shared, BaseEstimator):
    """A base without parameters of its own."""

    coef_: float


@with_parameters
class Model(Base):
    """An estimator.

    Parameters
    ----------
    size : int, default=2
        Of itself.
    n_jobs : int, default=None
        Threads of this one.

    Attributes
    ----------
    w_ : float

    Examples
    --------
    >>> 1
    1
    """

    size: int = field(default=2, kw_only=False)
    name: str = "m"
    verbose: int = 1
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "size": [Interval(Integral, 1, None, closed="left")]
    }


DOCUMENTED = """An estimator.

Parameters
----------
size : int, default=2
    Of itself.
verbose : int, default=0
    What is printed:

    - 1: a line.
n_jobs : int, default=None
    Threads of this one.

Attributes
----------
n_iter_ : int
w_ : float

Examples
--------
>>> 1
1
"""


def test_a_class_has_its_parameters_and_those_of_its_bases():
    assert str(inspect.signature(Model)) == (
        "(size: 'int' = 2, *, name: 'str' = 'm', verbose: 'int' = 1, n_jobs: 'int | None' = None)"
        " -> None"
    )
    assert vars(Model(3, n_jobs=4)) == {"size": 3, "name": "m", "verbose": 1, "n_jobs": 4}
    assert repr(clone(Model(3)).set_params(verbose=1, n_jobs=2)) == "Model(n_jobs=2, size=3)"
    with pytest.raises(TypeError, match="positional"):
        Model(2, "n")
    assert set(Model._parameter_constraints) == {"size", "verbose"}


def test_a_class_has_no_attributes_of_the_names_of_its_parameters():
    """Where an estimator lacks one, as an older pickle may, that shows."""
    assert not any(hasattr(Model, name) for name in ("size", "name", "verbose", "n_jobs"))
    assert "coef_" not in inspect.signature(Model).parameters


def test_the_documentation_is_complete():
    assert Model.__doc__ == DOCUMENTED
    assert Base.__doc__ == "A base without parameters of its own."


def test_a_parameter_of_a_base_that_a_class_has_no_use_for():
    @with_parameters
    class Quiet(Model):
        """Another.

        Parameters
        ----------
        name : str, default="m"
        """

        verbose: int = field(default=7, init=False)

    assert list(inspect.signature(Quiet).parameters) == ["size", "name", "n_jobs"]
    assert Quiet().verbose == 7
    assert set(Quiet._parameter_constraints) == {"size"}
    assert "verbose" not in Quiet.__doc__
    assert Quiet(3).get_params() == {"size": 3, "name": "m", "n_jobs": None}
    assert Model._parameter_constraints.keys() == {"size", "verbose"}


def test_a_class_without_documentation():
    @with_parameters
    class Silent(Base):
        size: int = 1

    assert Silent(size=2).size == 2


@pytest.mark.parametrize("cls", PREDICTORS)
def test_every_parameter_is_documented_with_its_default_and_constrained(cls):
    lines = cls.__doc__.splitlines()
    parameters = inspect.signature(cls).parameters
    assert set(parameters) == set(cls._parameter_constraints)
    documented = [line for line in lines if line.partition(" : ")[0] in parameters]
    for line, parameter in zip(documented, parameters.values(), strict=True):
        name, _, kind = line.partition(" : ")
        assert name == parameter.name
        stated = kind.partition("default=")[2]
        default = parameter.default
        assert stated == f'"{default}"' if isinstance(default, str) else eval(stated) == default
