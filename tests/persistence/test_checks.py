"""Numbers that files may lack, and values of parameters that they claim."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import HMM, GraphCRF, LinearChainCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Arrays

CRF = LinearChainCRF()


def test_a_number_stands_in_a_file_unless_it_is_the_usual_one():
    arrays = Arrays()
    checks.put_number(arrays, "order", 1, usual=1)
    checks.put_number(arrays, "chain/order", 2, usual=1)
    assert list(arrays) == ["chain/order"]
    assert checks.number(arrays, "order", 1, CRF) == 1
    assert checks.number(arrays, "chain/order", 1, CRF) == 2


@pytest.mark.parametrize("numbers", [[], [1], [2, 2], [3], [-2]])
def test_numbers_that_no_file_has(numbers):
    arrays = Arrays()
    arrays["order"] = np.array(numbers, np.int64)
    with pytest.raises(ModelFileError, match=r"order is .*, which no such model has"):
        checks.number(arrays, "order", 1, CRF)


def test_values_that_parameters_may_have():
    for model in (HMM(), LinearChainCRF()):
        assert [checks.is_allowed(model, "order", value) for value in (0, 1, 2, 3)] == [
            False,
            True,
            True,
            False,
        ]
    assert not checks.is_allowed(GraphCRF(), "order", 1)


def test_a_chain_of_another_order_is_refused():
    shared = Shared(Arrays())
    crf = LinearChainCRF(order=2).fit([["a", "b", "c"]], [["x", "y", "x"]])
    stored = put_estimator(crf, "", shared)
    shared.arrays["order"] = np.array([3])
    with pytest.raises(ModelFileError, match=r"order is \[3\], which no such model has"):
        estimator(stored, "", shared)
