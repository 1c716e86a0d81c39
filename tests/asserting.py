"""A plugin of pytest: a test that asserts nothing, be it for one of its parameters alone, fails.

What counts is an ``assert`` in a file of this folder, a function of `numpy.testing`,
`pytest.raises` and `pytest.warns`. Tests with the marker ``foreign`` run assertions of another
package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.assertion import rewrite

HERE = str(Path(__file__).parent)

made = 0


def _passed() -> bool:
    """Count an assertion. Pytest asks here whether to tell its plugins of one; that would cost the
    text of each.
    """
    global made
    made += sys._getframe(1).f_globals.get("__file__", "").startswith(HERE)
    return False


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        global made
        made += 1
        return function(*args, **kwargs)

    return call


def _count() -> None:
    rewrite._check_if_assertion_pass_impl = _passed
    # not the byte code of a run that did not count
    rewrite.PYC_TAIL = f".counted{rewrite.PYC_TAIL}"
    for name in np.testing.__all__:
        if name.startswith("assert_") and not isinstance(getattr(np.testing, name), type):
            setattr(np.testing, name, _counted(getattr(np.testing, name)))
    pytest.raises = _counted(pytest.raises)
    pytest.warns = _counted(pytest.warns)


_count()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "foreign: the assertions are those of another package")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    before = made
    result = yield
    if made == before and pyfuncitem.get_closest_marker("foreign") is None:
        pytest.fail("this test asserted nothing", pytrace=False)
    return result
