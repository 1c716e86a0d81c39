"""Readers of annotated text, corpora to download, and generated data."""

from sklearn_struct.datasets.classifieds import read_classifieds
from sklearn_struct.datasets.conll import read_conll
from sklearn_struct.datasets.downloaded_corpora import fetch_conll2000, fetch_ud_ewt
from sklearn_struct.datasets.generated_motions import make_motions
from sklearn_struct.datasets.generated_rental_ads import make_rental_ads
from sklearn_struct.datasets.generated_snakes import make_snakes
from sklearn_struct.datasets.generated_treebank import make_treebank
from sklearn_struct.datasets.treebank import fetch_treebank_sample, read_treebank
from sklearn_struct.datasets.us_addresses import fetch_usaddress

__all__ = [
    "fetch_conll2000",
    "fetch_treebank_sample",
    "fetch_ud_ewt",
    "fetch_usaddress",
    "make_motions",
    "make_rental_ads",
    "make_snakes",
    "make_treebank",
    "read_classifieds",
    "read_conll",
    "read_treebank",
]
