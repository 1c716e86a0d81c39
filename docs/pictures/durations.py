"""A series of two states that last long: learned durations, and the states of both models."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import HMM, HSMM

rng = np.random.default_rng(0)
lengths = 1 + rng.poisson(np.tile([9.0, 24.0], 150))
truth = np.repeat(np.arange(300) % 2, lengths)
series = rng.normal(1.5 * truth)[:, None]

options = {"n_states": 2, "random_state": 0}
plain = HMM(stop=False, **options).fit([series])
model = HSMM(durations="poisson", max_length=50, **options).fit([series])

figure, (top, *rows) = plt.subplots(
    4, 1, height_ratios=[3.2, 2.2, 0.7, 0.7], figsize=(6.4, 4.9), layout="constrained"
)
days = np.arange(1, 51)
for rank in range(2):
    k = np.argsort(model.means_[:, 0])[rank]
    top.plot(days, np.exp(model.duration_logprob_[k]), "-", color=f"C{rank}", lw=2)
    k = np.argsort(plain.means_[:, 0])[rank]
    stay = np.exp(plain.transition_logprob_[k, k])
    top.plot(days, stay ** (days - 1) * (1 - stay), "--", color=f"C{rank}")
top.set(xlabel="duration", ylabel="probability", xlim=(1, 50))
top.legend(["low, HSMM", "low, HMM", "high, HSMM", "high, HMM"], ncols=2)

here = slice(0, 240)
rows[0].plot(series[here, 0], ".", ms=4, color="#59636e")
rows[0].step(np.arange(240), 1.5 * truth[here], where="mid", color="black", lw=1)
rows[0].set(ylabel="value", xlim=(0, 240), xticks=[])
for ax, (name, one) in zip(rows[1:], {"HMM": plain, "HSMM": model}.items()):
    low = int(np.argmin(one.means_[:, 0]))
    states = np.array(one.predict([series])[0]) != low
    ax.imshow(states[None, here], aspect="auto", cmap="tab10", vmax=9, extent=(0, 240, 0, 1))
    ax.set(yticks=[], xticks=[])
    ax.set_ylabel(name, rotation=0, ha="right", va="center")
rows[2].set(xlabel="step", xticks=range(0, 241, 40))
