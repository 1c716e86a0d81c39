"""What three displays show of a hidden Markov model of a signal with three levels."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import HMM
from sklearn_struct.inspection import DurationDisplay, EmissionDisplay, PosteriorDisplay

rng = np.random.default_rng(0)
lengths = rng.integers(5, 25, size=40)
level = np.repeat(rng.integers(3, size=40), lengths)
signal = rng.normal(1.5 * level, 0.9)[:, None]
# a few labels give the states their names
names = np.array(["low", "middle", "high"])[level].tolist()
known = [*names[:100], *[None] * (len(names) - 100)]
hmm = HMM(stop=False).fit([signal], [known])

figure, axes = plt.subplot_mosaic(
    [["emission", "duration"], ["posterior", "posterior"]], figsize=(6.4, 4.6), layout="constrained"
)
EmissionDisplay.from_estimator(hmm, stream=0, ax=axes["emission"])
axes["emission"].set(xlabel="value", ylim=(0, 0.7), title="EmissionDisplay")
axes["emission"].legend(loc="upper center", ncols=3, fontsize="small", columnspacing=1)
DurationDisplay.from_estimator(
    hmm, ax=axes["duration"], longest=40, line_kw={"marker": None}
).ax_.get_legend().remove()
axes["duration"].set(ylim=(0, None), title="DurationDisplay")
display = PosteriorDisplay.from_estimator(
    hmm, signal[:160], stream=0, ax=axes["posterior"], area_kw={"colors": ["C0", "C1", "C2"]}
)
display.ax_.get_legend().remove()
display.series_ax_.set(ylabel="value")
axes["posterior"].set(title="PosteriorDisplay")
