"""Accuracy against the number of labelled words, without and with labelled advertisements."""

import matplotlib.pyplot as plt
from advertisements import words_and_fields

from sklearn_struct import GECRF

WORDS = """. O, $ RENT, bedroom SIZE, call CONTACT, available AVAILABLE, pets RESTRICTIONS,
    kitchen FEATURES, utilities UTILITIES, photos PHOTOS, street ADDRESS, near NEIGHBORHOOD,
    roommate ROOMMATES, month RENT, bath SIZE, email CONTACT, june AVAILABLE, no RESTRICTIONS,
    parking FEATURES, included UTILITIES, pictures PHOTOS, avenue ADDRESS, close NEIGHBORHOOD,
    we ROOMMATES, ! O, rent RENT, sq SIZE, deposit RENT, smoking RESTRICTIONS, laundry FEATURES,
    pays UTILITIES, click PHOTOS, road ADDRESS, downtown NEIGHBORHOOD, friendly ROOMMATES, - O"""
labeled = [tuple(line.split()) for line in WORDS.split(",")]

X, y = words_and_fields(200)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for known, marker in [(0, "o"), (10, "s")]:
    counts = [n for n in (0, 6, 12, 24, 36) if n + known > 0]
    scores = []
    for n in counts:
        targets = {f"word:{word}": label for word, label in labeled[:n]}
        crf = GECRF(targets, classes=sorted({label for ad in y for label in ad}))
        crf.fit(X[:100], y[:known] + [None] * (100 - known))
        scores.append(crf.score(X[100:], y[100:]))
    ax.plot(counts, scores, marker=marker, label=f"{known} labelled advertisements")
ax.set(xlabel="labelled words", ylabel="token accuracy on test ads", ylim=(0, 1))
ax.legend(loc="lower right")
ax.grid(alpha=0.3)
