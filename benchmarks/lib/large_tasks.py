"""Larger and more labels than the tasks have: sentences as strings or dicts with their labels.

Nothing here imports this package, so that a peer's process does not hold it.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from typing import Any

from papers.field_corpora import in_data_home

from lib.side_by_side import Stopwatch
from lib.tasks import Sentence, affix_attributes, dicts, read

QUICK = 300  # sentences
N_TAGS = 449
LEAF = re.compile(r"\(([^()\s]+) ([^()\s]+)\)")
ENTITY_TOKENS = 265_000
ENTITY_LABELS = 8
RARE = 2  # occurrences of words that are renamed where a sentence is drawn again

Strings = list[list[list[str]]]
Labels = list[list[str]]


def relations(watch: Stopwatch) -> tuple[Strings, Labels]:
    """Parts of speech with relations of EWT, 342 labels."""
    sentences: list[Sentence] = [[]]
    y: Labels = [[]]
    path = in_data_home("ewt", "en_ewt-ud-train.conllu.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if columns[0].isdigit():
                sentences[-1].append((columns[1],))
                y[-1].append(f"{columns[3]}:{columns[7]}")
            elif columns == [""]:
                sentences.append([])
                y.append([])
    n = QUICK if watch.quick else len(y) - 1
    return [affix_attributes(sentence) for sentence in sentences[:n]], y[:n]


def tags_of_trees(watch: Stopwatch) -> tuple[Strings, Labels]:
    """The 449 most frequent tags of the leaves of Greynir's trees, and one for all others."""
    sentences: list[Sentence] = []
    y: Labels = []
    with gzip.open(in_data_home("greynir", "devset.mrg.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            leaves = LEAF.findall(line)
            if leaves:
                sentences.append([(word,) for _, word in leaves])
                y.append([tag for tag, _ in leaves])
    counts = Counter(tag for tags in y for tag in tags)
    kept = {tag for tag, _ in counts.most_common(N_TAGS)}
    n = QUICK if watch.quick else len(y)
    return (
        [affix_attributes(sentence) for sentence in sentences[:n]],
        [[tag if tag in kept else "other" for tag in tags] for tags in y[:n]],
    )


def entities(watch: Stopwatch) -> tuple[list[list[dict[str, Any]]], Labels]:
    """Dicts of the size of a large corpus of names: 265,000 tokens and nine labels.

    Sentences of the chunking task, drawn again and again, whose rare words get another name each
    time; the labels are the eight most frequent ones and one for all others.
    """
    import numpy as np

    X, y = read("chunking", "train", watch)
    words = Counter(token[0] for sentence in X for token in sentence)
    tags = Counter(label for labels in y for label in labels)
    kept = {label for label, _ in tags.most_common(ENTITY_LABELS)}
    rng = np.random.default_rng(0)
    most = 10_000 if watch.quick else ENTITY_TOKENS
    drawn: list[list[dict[str, Any]]] = []
    labels: Labels = []
    n_tokens = 0
    while n_tokens < most:
        i = int(rng.integers(len(X)))
        sentence = [
            (f"{word}{len(drawn) % 4}" if words[word] <= RARE else word, *others)
            for word, *others in X[i]
        ]
        drawn.append(dicts(name_attributes(sentence)))
        labels.append([label if label in kept else "other" for label in y[i]])
        n_tokens += len(sentence)
    return drawn, labels


def name_attributes(sentence: Sentence) -> list[list[str]]:
    """What taggers of names use: the word, its forms and its end, and those of its neighbours."""
    words = [token[0] for token in sentence]
    attributes = []
    for t, word in enumerate(words):
        token = ["bias=1", f"word={word.lower()}", f"end3={word[-3:]}", f"end2={word[-2:]}"]
        token += [f"tag={sentence[t][1]}", f"tag2={sentence[t][1][:2]}"]
        token += [f"title={word.istitle()}", f"upper={word.isupper()}", f"digit={word.isdigit()}"]
        for offset in (-1, 1):
            if 0 <= t + offset < len(words):
                other = words[t + offset]
                token += [f"{offset}:word={other.lower()}", f"{offset}:title={other.istitle()}"]
                tag = sentence[t + offset][1]
                token += [f"{offset}:upper={other.isupper()}", f"{offset}:tag={tag}"]
                token.append(f"{offset}:tag and word={tag} {word.lower()}")
            else:
                token.append(f"{offset}:end=1")
        attributes.append(token)
    return attributes
