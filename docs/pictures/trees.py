"""One sentence, two grammars: what does "of a book" belong to?"""

import matplotlib.pyplot as plt

from sklearn_struct import EMLPCFG, PCFG
from sklearn_struct.datasets import make_treebank
from sklearn_struct.inspection import TreeDisplay

X, y = make_treebank(n_samples=400, random_state=0)
parsers = {
    "PCFG: it belongs to the verb": PCFG().fit(X, y),
    "EMLPCFG: it belongs to the pictures": EMLPCFG(n_states=8, random_state=0).fit(X, y),
}
sentence = ["a", "ship", "likes", "the", "pictures", "of", "a", "book"]

figure, axes = plt.subplots(2, 1, height_ratios=[1, 1.2], figsize=(6.4, 8), layout="constrained")
for ax, (name, parser) in zip(axes, parsers.items()):
    TreeDisplay.from_estimator(parser, sentence, ax=ax, colorbar=False)
    ax.set_title(name)
