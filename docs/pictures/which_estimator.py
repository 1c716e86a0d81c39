"""The picture of "Which estimator?": questions from top to bottom, estimators beside them.

It is narrow, so that it can be read on a phone.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

# a question, and the estimators to use if the answer is yes
QUESTIONS = [
    ("No sequence: one input,\none label?", ["LogLinearClassifier"]),
    ("One label for\na whole sequence?", ["HiddenStateClassifier"]),
    (
        "A tree above\neach sentence?",
        ["PCFG", "EMLPCFG", "SpectralLPCFG", "MEstimatedPCFG"],
    ),
    ("Are the items nodes\nof a graph?", ["GraphCRF"]),
    ("Are they the pixels\nof images?", ["GridCRF"]),
    ("Several labels\nfor each token?", ["FactorialCRF"]),
    ("Rows of features with\nseveral labels each?", ["MultiLabelCRF"]),
    ("Do equal words help\neach other far apart?", ["SkipChainCRF"]),
    (
        "Few labels or none, but\nyou know typical words?",
        ["GECRF", "PrototypeMRF", "ConstraintDrivenHMM"],
    ),
    ("Do lengths of fields\nor names matter?", ["SemiMarkovCRF"]),
    (
        "Do you need p(x), or\nlearn without labels?",
        ["HMM", "HSMM", "NonHomogeneousHMM", "SpectralHMM"],
    ),
    ("Does a label hide\nseveral kinds of tokens?", ["LatentChainCRF"]),
    (
        "Compare other ways\nto train a chain?",
        ["MEMM", "PseudoLikelihoodCRF", "PiecewiseCRF", "MEstimatedCRF"],
    ),
]
LAST = "LinearChainCRF\n(most users end here)"
TUNED = "LinearChainCRFCV\n(finds a good C)"

QUESTION_X = 0.235
ANSWER_X = 0.77
LINE = 0.38  # height of a line of text
SPACE = 0.55  # between two boxes
FONT_SIZE = 9.0


def write(ax: Axes, x: float, y: float, text: str, colour: str, **font: Any) -> None:
    """A box with a text, centred at x and y."""
    style = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#59636e"}
    ax.text(x, y, text, ha="center", va="center", fontsize=FONT_SIZE, bbox=style, **font)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    """An arrow, with a word beside its middle."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#59636e"})
    x = (start[0] + end[0]) / 2
    y = (start[1] + end[1]) / 2
    if start[0] == end[0]:
        ax.text(x + 0.015, y, text, va="center", fontsize=FONT_SIZE)
    else:
        ax.text(x, y - 0.07, text, ha="center", va="bottom", fontsize=FONT_SIZE)


def main() -> None:
    heights = [max(2, len(answers)) * LINE for _, answers in QUESTIONS]
    total = sum(heights) + SPACE * (len(heights) + 1) + 2 * LINE
    figure = plt.figure(figsize=(4.1, total * 0.5))
    # all of the picture, as a margin would make the text smaller on a phone
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 1), ylim=(total, 0))
    ax.axis("off")
    top = SPACE / 2
    for i, (question, answers) in enumerate(QUESTIONS):
        middle = top + heights[i] / 2
        write(ax, QUESTION_X, middle, question, "#eef2f6")
        write(ax, ANSWER_X, middle, "\n".join(answers), "#d7efdc", weight="bold")
        arrow(ax, (QUESTION_X + 0.235, middle), (ANSWER_X - 0.225, middle), "yes")
        below = top + heights[i] + SPACE
        next_height = heights[i + 1] if i + 1 < len(heights) else 2 * LINE
        target = below + next_height / 2 - LINE - 0.16
        arrow(ax, (QUESTION_X, middle + LINE + 0.16), (QUESTION_X, target), "no")
        top = below
    write(ax, QUESTION_X, top + LINE, LAST, "#d7efdc", weight="bold")
    write(ax, ANSWER_X, top + LINE, TUNED, "#d7efdc", weight="bold")
    arrow(ax, (QUESTION_X + 0.235, top + LINE), (ANSWER_X - 0.225, top + LINE), "tune")


if __name__ == "__main__":
    main()
