"""A signal with three levels: what the model learns of it, without labels."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from sklearn_struct import HMM

rng = np.random.default_rng(0)
lengths = rng.integers(5, 25, size=40)
level = np.repeat(rng.integers(3, size=40), lengths)
signal = rng.normal(2.0 * level, 0.7)[:, None]

hmm = HMM(n_states=3, random_state=0).fit([signal])
states = np.array(hmm.predict([signal])[0])
order = np.argsort(hmm.means_[:, 0])

figure, (left, right) = plt.subplots(
    1, 2, sharey=True, width_ratios=[1, 2.4], figsize=(6.4, 3.2), layout="constrained"
)
grid = np.linspace(signal.min(), signal.max(), 200)
steps = np.arange(160)
for rank, state in enumerate(order):
    density = norm.pdf(grid, hmm.means_[state, 0], np.sqrt(hmm.variances_[state, 0]))
    left.plot(density, grid, color=f"C{rank}", lw=2)
    here = states[steps] == state
    right.plot(steps[here], signal[steps][here, 0], "o", ms=4, color=f"C{rank}")
right.step(steps, hmm.means_[states[steps], 0], where="mid", color="black", lw=1)
left.set(xlabel="density", ylabel="value", xlim=(0, None), title="Learned emissions")
right.set(xlabel="step", title="Decoded states")
