"""Import, fit once, predict once: print the seconds of each as JSON.

`compiling` and `versions` run it in fresh processes.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

TOKENS = [
    [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")],
    [("a", "DT"), ("dog", "NN")],
    [("it", "PRP")],
]
LABELS = [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP"], ["B-NP"]]


def data(form: str) -> Any:
    """A few sentences in one of the forms that X has."""
    import numpy as np

    from sklearn_struct import FeatureTemplates

    if form == "columns":
        return FeatureTemplates("chunking", add_bos_eos=True).fit_transform(TOKENS)
    if form == "dense":
        return [np.arange(4.0 * len(sentence)).reshape(-1, 4) for sentence in TOKENS]
    return [[[f"word={word}", f"pos={pos}"] for word, pos in sentence] for sentence in TOKENS]


def main(form: str, solver: str, dtype: str) -> None:
    start = time.process_time()
    import sklearn.utils.validation  # noqa: F401

    theirs = time.process_time()
    from sklearn_struct import LinearChainCRF

    imported = time.process_time()
    from lib.recording import Compiling

    compiling = Compiling()
    began = time.process_time()
    crf = LinearChainCRF(solver=solver, dtype=dtype, random_state=0).fit(data(form), LABELS)
    fitted = time.process_time()
    compiled = compiling.count
    seconds = compiling.seconds
    crf.predict(data(form))
    predicted = time.process_time()
    figures = {
        "import": imported - start,
        "of it scikit-learn": theirs - start,
        "fit": fitted - began,
        "kernels compiled in fit": compiled,
    }
    figures |= {"of it compiling": seconds, "predict": predicted - fitted}
    print(json.dumps(figures | {"kernels compiled in predict": compiling.count - compiled}))


if __name__ == "__main__":
    main(*sys.argv[1:])
