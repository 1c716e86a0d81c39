"""
======================================
How long a bird rests, feeds and flies
======================================

A sensor on a bird measures its movement once a minute. The bird rests, feeds or flies, and each of
these has a typical duration. A hidden Markov model cannot learn such durations: in this model, one
minute is always the most probable duration. A hidden semi-Markov model can. The picture shows the
durations that both models learned.

The model is an `HSMM <sklearn_struct.HSMM>`. The measurements are made up by a few lines of code.
The guide has a page on :doc:`durations <../user_guide/durations>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import HMM, HSMM
from sklearn_struct.inspection import DurationDisplay

# %%
# Data
# ----
# A day has 12 hours. The bird flies for about 6 minutes, feeds for about 20 and rests for about 40.
# The sensor is noisy, so one measurement says little. Somebody watched the bird on the first two
# days and wrote down what it did. Of the other days only the measurements are known. The last ten
# days test the models.

rng = np.random.default_rng(0)
MINUTES = 720
DURATION = {"feed": 20, "fly": 6, "rest": 40}
MOVEMENT = {"feed": 1.0, "fly": 2.5, "rest": 0.0}
NEXT = {"feed": ["fly", "rest"], "fly": ["feed", "rest"], "rest": ["feed", "fly"]}


def day():
    """Measurements of one day, and what the bird did."""
    states = []
    now = str(rng.choice(list(DURATION)))
    while len(states) < MINUTES:
        states += [now] * (1 + rng.poisson(DURATION[now] - 1))
        now = str(rng.choice(NEXT[now]))
    states = states[:MINUTES]
    return rng.normal([MOVEMENT[s] for s in states], 1.0)[:, None], states


X, y = zip(*(day() for _ in range(30)))
train = X[:20]
known = [*y[:2], *[None] * 18]
test = X[20:]
truth = y[20:]

# %%
# Two models
# ----------
# Both learn from the same days. The durations of the HSMM have Poisson distributions, and no state
# lasts more than 80 minutes.

plain = HMM(stop=False, tol=1e-5).fit(train, known)
model = HSMM(durations="poisson", max_length=80, tol=1e-5).fit(train, known)
for label, mean in zip(model.classes_, model.duration_means_):
    print(f"{label:4}  true mean {DURATION[label]:2}, learned mean {mean:.1f} minutes")

# %%
# Durations
# ---------
# The curves are the distributions that the models learned. The bars are the durations that each
# model finds on the 20 days, without the first and the last of a day. In the HMM all curves fall
# from one minute on. In the HSMM each curve has its top near the true mean.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, (name, one) in zip((left, right), {"HMM": plain, "HSMM": model}.items()):
    DurationDisplay.from_estimator(one, train, ax=ax, line_kw={"marker": None})
    ax.set(xlim=(0, 70), ylim=(0, 0.25), title=name, xlabel="duration in minutes")
plt.show()

# %%
# Days that no model has seen
# ---------------------------
# ``score_samples`` is the log-likelihood of a day. We divide it by the minutes. ``score`` is the
# share of minutes whose state is right. The HSMM is better in both.

for name, one in {"HMM": plain, "HSMM": model}.items():
    per_minute = one.score_samples(test).sum() / (10 * MINUTES)
    print(f"{name:4}  log-likelihood {per_minute:.3f} a minute, {one.score(test, truth):.1%} right")

# %%
# One morning
# -----------
# Above are the measurements of four hours, below the states. The HMM misses a meal and a flight: it
# takes two rests and the meal between them for one rest of 100 minutes. In the HSMM no rest lasts
# that long, so it finds the meal. It also finds the second flight, and one flight too many.

colours = {"feed": 0, "fly": 1, "rest": 2}
figure, axes = plt.subplots(
    4, 1, figsize=(10, 4), height_ratios=[4, 1, 1, 1], sharex=True, layout="constrained"
)
axes[0].plot(test[0][:240, 0], ".", markersize=3, color="black")
axes[0].set_ylabel("movement")
rows = {"truth": truth[0], "HMM": plain.predict(test[:1])[0], "HSMM": model.predict(test[:1])[0]}
for ax, (name, labels) in zip(axes[1:], rows.items()):
    codes = [[colours[label] for label in labels[:240]]]
    ax.imshow(codes, aspect="auto", cmap="tab10", vmin=0, vmax=9, interpolation="none")
    ax.set(yticks=[])
    ax.set_ylabel(name, rotation="horizontal", ha="right", va="center")
axes[-1].set_xlabel("minute (blue: feed, orange: fly, green: rest)")
plt.show()
