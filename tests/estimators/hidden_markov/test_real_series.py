"""Series of the data home: rain on the days of months, and vowels in twelve channels."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from sklearn_struct import HMM, HSMM, NonHomogeneousHMM, SequenceArray

pytestmark = pytest.mark.skipif(
    "SKLEARN_STRUCT_DATA" not in os.environ, reason="no data home: SKLEARN_STRUCT_DATA is not set"
)


def lines(name):
    path = Path(os.environ["SKLEARN_STRUCT_DATA"]) / name
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def vowels(part):
    """Recordings (channels, time) and their speakers."""
    recordings = []
    speakers = []
    for line in lines(f"japanese_vowels/JapaneseVowels_{part}.ts.gz"):
        if line and line[0] not in "@#":
            *channels, speaker = line.split(":")
            recordings.append(np.array([np.fromstring(c, sep=",") for c in channels]))
            speakers.append(speaker)
    return SequenceArray.from_3d(recordings, layout="nct"), np.array(speakers)


def test_rain_has_two_states_that_last():
    months = [line.split() for line in lines("rain/rain.txt.gz") if line]
    known = months[:700]
    new = months[700:]
    options = {"oov": None, "random_state": 0, "tol": 1e-5}
    hmms = {n: HMM(n_states=n, stop=False, **options).fit(known) for n in (1, 2, 3)}
    bic = {n: hmm.bic(known) for n, hmm in hmms.items()}
    assert min(bic, key=bic.get) == 2
    lasting = HSMM(n_states=2, max_length=28, **options).fit(known)
    assert lasting.log_likelihood(new) > hmms[2].log_likelihood(new) + 5


def test_seasons_of_rain():
    """The season says how probable rain is; no state of a plain model does as well."""
    days = [line.split() for line in lines("rain/rain.txt.gz") if line]
    months = np.array(lines("rain/months.txt.gz"), float)
    with_season = []
    for values, month in zip(days, months, strict=True):
        angle = 2 * np.pi * (month - 1 + np.arange(len(values)) / len(values)) / 12
        with_season.append(list(zip(values, np.cos(angle), np.sin(angle), strict=True)))
    options = {"n_states": 2, "oov": None, "random_state": 0, "tol": 1e-5}
    plain = HMM(stop=False, **options).fit(days[:700])
    model = NonHomogeneousHMM(transition_inputs=[1, 2], **options).fit(with_season[:700])
    known = (plain.bic(days[:700]), model.bic(with_season[:700]))
    assert known[1] < known[0] - 400
    new = (plain.log_likelihood(days[700:]), model.log_likelihood(with_season[700:]))
    assert new[1] > new[0] + 120


@pytest.mark.parametrize("covariance_type", ["diag", "full", "tied"])
def test_speakers_are_told_by_their_vowels(covariance_type):
    """A model of each speaker; the most probable one counts."""
    X, speakers = vowels("TRAIN")
    X_test, speakers_test = vowels("TEST")
    options = {"covariance_type": covariance_type, "min_variance": 1e-2, "tol": 1e-4}
    names = np.unique(speakers)
    scores = [
        HMM(n_states=2, stop=False, random_state=0, **options)
        .fit(X[speakers == name])
        .score_samples(X_test)
        for name in names
    ]
    assert np.mean(names[np.argmax(scores, axis=0)] == speakers_test) > 0.95
