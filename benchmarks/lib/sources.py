"""The papers whose experiments are done again: the one list of their keys."""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """Authors, title, and where and when it came out."""

    authors: str
    title: str
    venue: str


class Source(NamedTuple):
    """What a benchmark does again.

    Attributes
    ----------
    key : str
        The paper, a key of `PAPERS`.
    place : str
        Its table, figure or section, or a subject where it has none.
    """

    key: str
    place: str

    def __str__(self) -> str:
        return f"{self.key}, {self.place}"


PAPERS = {
    "sutton-2012": Paper(
        "Sutton and McCallum",
        "An introduction to conditional random fields",
        "Foundations and Trends in Machine Learning 4(4), 2012, chapter 5",
    ),
    "smith-2007": Paper(
        "Smith, Vail and Lafferty",
        "Computationally efficient M-estimation of log-linear structure models",
        "ACL 2007",
    ),
    "mann-2008": Paper(
        "Mann and McCallum",
        "Generalized expectation criteria for semi-supervised learning of conditional random"
        " fields",
        "ACL 2008",
    ),
    "cohen-2012": Paper(
        "Cohen, Stratos, Collins, Foster and Ungar",
        "Spectral learning of latent-variable PCFGs",
        "ACL 2012",
    ),
    "collins-notes": Paper("Collins", "Log-linear models", "lecture notes"),
    "haghighi-2006": Paper(
        "Haghighi and Klein", "Prototype-driven learning for sequence models", "NAACL 2006"
    ),
    "chang-2007": Paper(
        "M.-W. Chang, Ratinov and Roth",
        "Guiding semi-supervision with constraint-driven learning",
        "ACL 2007",
    ),
    "ganchev-2010": Paper(
        "Ganchev, Graça, Gillenwater and Taskar",
        "Posterior regularization for structured latent variable models",
        "JMLR 11, 2010",
    ),
    "quattoni-2007": Paper(
        "Quattoni, Wang, Morency, Collins and Darrell",
        "Hidden conditional random fields",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence 29(10), 2007",
    ),
    "morency-2007": Paper(
        "Morency, Quattoni and Darrell",
        "Latent-dynamic discriminative models for continuous gesture recognition",
        "CVPR 2007",
    ),
    "sarawagi-2004": Paper(
        "Sarawagi and Cohen",
        "Semi-Markov conditional random fields for information extraction",
        "NIPS 2004",
    ),
    "sutton-2004": Paper(
        "Sutton and McCallum",
        "Collective segmentation and labeling of distant entities in information extraction",
        "ICML workshop on statistical relational learning, 2004",
    ),
    "sutton-2007": Paper(
        "Sutton, McCallum and Rohanimanesh",
        "Dynamic conditional random fields",
        "JMLR 8, 2007",
    ),
    "mueller-2014": Paper(
        "Müller and Behnke",
        "PyStruct: learning structured prediction in Python",
        "JMLR 15, 2014",
    ),
    "xiang-2008": Paper(
        "Xiang and Neville",
        "Pseudolikelihood EM for within-network relational learning",
        "ICDM 2008",
    ),
    "ghamrawi-2005": Paper(
        "Ghamrawi and McCallum", "Collective multi-label classification", "CIKM 2005"
    ),
    "qu-2019": Paper("Qu, Bengio and Tang", "GMNN: graph Markov neural networks", "ICML 2019"),
    "lacostejulien-2013": Paper(
        "Lacoste-Julien, Jaggi, Schmidt and Pletscher",
        "Block-coordinate Frank-Wolfe optimization for structural SVMs",
        "ICML 2013",
    ),
    "shah-2015": Paper(
        "Shah, Kolmogorov and Lampert",
        "A multi-plane block-coordinate Frank-Wolfe algorithm for training structural SVMs with a"
        " costly max-oracle",
        "CVPR 2015",
    ),
}
