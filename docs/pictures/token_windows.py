"""A signal, and the columns that windows of three tokens give it."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import TokenWindows

signal = np.array([0.1, 0.3, 0.9, 0.8, 0.4, 0.2])[:, None]
windows = TokenWindows(offsets=[-1, 0, 1])
rows = windows.fit_transform([signal])[0]

figure, (left, right) = plt.subplots(
    1, 2, sharey=True, width_ratios=[1, 3], figsize=(5, 3), layout="constrained"
)
columns = {
    left: (signal, ["x0"], "X[0]"),
    right: (rows, windows.get_feature_names_out(), "windows"),
}
for ax, (values, names, title) in columns.items():
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1.2, aspect="auto")
    ax.set(title=title, xticks=range(len(names)), yticks=range(len(values)))
    ax.set_xticklabels(names)
    for (t, c), value in np.ndenumerate(values):
        outside = title == "windows" and not 0 <= t + c - 1 < len(values)
        ax.text(c, t, f"{value:.1f}", ha="center", va="center", color="C3" if outside else "black")
left.set_ylabel("token")
