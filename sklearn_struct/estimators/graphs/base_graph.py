"""What estimators of graphs share: how they read them, and which weights they have."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Family, Structure, columns_of, n_columns
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.encoding.graphs import EDGES, GivenCliques, family_of
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.warm_start import Start, Target, transfer
from sklearn_struct.estimators.graphs.clique_features import CliqueFeatures
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.objectives.linear_potentials import Inputs
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    all_pairs,
    each_pair,
    masked_pairs,
    node_pairs,
    observed_pairs,
)

__all__ = ["MOST_COLUMNS", "BaseGraph", "Graphs", "NodeTypes", "Template"]

NO_EDGES = GivenCliques(2, [], None, False)
# columns of a clique's table; more would hardly fit into memory for each clique
MOST_COLUMNS = 2**22


class Template(NamedTuple):
    """Cliques of one name as `fit` has learned them."""

    size: int
    symmetric: bool
    features: CliqueFeatures
    potts: bool = False


class NodeTypes(NamedTuple):
    """The names of types of nodes, and for each node the number of its own (n_nodes,)."""

    names: list[str]
    number: np.ndarray


class Graphs(NamedTuple):
    """X as read: packed nodes, whether it came as two-dimensional, who depends on whom, the
    features of the cliques of each family, and types of nodes, if they have some.
    """

    X: SequenceArray
    flat: bool
    structure: Structure
    clique_rows: list[Matrix | None]
    types: NodeTypes | None = None


class BaseGraph(BasePartlyLabelled):
    """A linear model of nodes and cliques; a subclass says how it learns.

    It has the parameters `dtype`, `feature_pairs` and `fit_intercept`. ``templates_``
    are the kinds of cliques by their names, in the order of families.
    """

    templates_: dict[str, Template]

    @abstractmethod
    def _read_X(self, X: Any, reset: bool) -> Any:
        """Nodes and cliques, as `Graphs`."""

    def _read_nodes(self, X: Any, reset: bool) -> Any:
        """The nodes alone, as others read tokens."""
        return super()._read_X(X, reset)

    def _read_cliques(
        self, given: dict[str, GivenCliques], offsets: np.ndarray, reset: bool
    ) -> tuple[tuple[Family, ...], list[Matrix | None]]:
        """The families of cliques, and their features."""
        n = len(offsets) - 1
        if reset:
            given = given or {EDGES: NO_EDGES._replace(nodes=[[]] * n)}
            self.templates_ = {
                name: Template(
                    cliques.size,
                    cliques.symmetric,
                    CliqueFeatures(name),
                    cliques.potts,
                )
                for name, cliques in given.items()
            }
        self._check_known(given, offsets)
        families = []
        rows = []
        for name, template in self.templates_.items():
            # of kinds that these graphs have none of
            none = GivenCliques(template.size, [[]] * n, None, template.symmetric)
            cliques = given.get(name, none)
            families.append(family_of(cliques, name, offsets))
            rows.append(template.features.read(cliques.features, families[-1], self.dtype, reset))
        return tuple(families), rows

    def _check_known(self, given: dict[str, GivenCliques], offsets: np.ndarray) -> None:
        """Refuse cliques of which nothing was learned, if there are some."""
        for name, cliques in given.items():
            template = self.templates_.get(name)
            if template is not None and cliques.size == template.size:
                continue
            if not len(family_of(cliques, name, offsets).nodes):
                continue
            if template is None:
                raise InputTypeError(
                    f"cliques called {name!r}, but in fit there were {sorted(self.templates_)}"
                )
            raise InputTypeError(
                f"cliques {name!r} of {cliques.size} nodes, but of {template.size} in fit"
            )

    def _family(self, name: str) -> int:
        """The number of the family of these cliques."""
        templates: dict[str, Template] = self._fitted("templates_")
        if not isinstance(name, str):
            raise InputTypeError(
                f"name must be a string, of Cliques, such as {next(iter(templates), EDGES)!r}, "
                f"got a {type(name).__name__}"
            )
        if name not in templates:
            raise AttributeError(
                f"this {type(self).__name__} has no cliques {name!r}, but {sorted(templates)}"
            )
        return list(templates).index(name)

    @property
    def transition_(self) -> np.ndarray:
        """Weights (n_labels, n_labels) of edges, from the label of the first node (row) to that of
        the second one.
        """
        self._family(EDGES)
        return self.clique_transition_[EDGES]

    @property
    def edge_coef_(self) -> Any:
        """Weights (n_labels ** 2, n_edge_features) of features of edges."""
        return self._tables_of_features()[self._family(EDGES)]

    @property
    def clique_transition_(self) -> dict[str, np.ndarray]:
        """Of each kind of cliques weights (n_labels, ..., n_labels) of their labellings, with a
        dimension for each node.
        """
        pattern = self._fitted("_pattern")
        K = pattern.n_labels
        tables = {}
        parts = zip(self.templates_, pattern.families, self._segments().columns, strict=True)
        for name, family, weights in parts:
            tied = family.ties(K)
            # labellings that cannot be have no weight
            table = np.zeros(n_columns(K, family.size) if tied is None else tied.n)
            table[family.columns] = weights
            table = table if tied is None else tied.spread(table)
            tables[name] = table.reshape((K,) * family.size)
        return tables

    @property
    def clique_coef_(self) -> dict[str, Any]:
        """Of each kind of cliques weights (n_features, n_labels, ..., n_labels) of their features;
        of sparse features a csr_array (n_features, n_labels ** r).
        """
        pattern = self._fitted("_pattern")
        K = pattern.n_labels
        tables = {}
        for name, table in zip(self.templates_, self._tables_of_features(), strict=True):
            shape = (table.shape[1], *(K,) * self.templates_[name].size)
            tables[name] = sp.csr_array(table.T) if sp.issparse(table) else table.T.reshape(shape)
        return tables

    def _transferred(self, start: Any) -> np.ndarray:
        """The weights that another fitted estimator has for those of this one."""
        names = getattr(self, "feature_names_in_", None)
        target = Target(self._pattern, self._rows_for(start), self.n_features_in_, names)
        return transfer(start, target, self._starts)

    def _starts(self, source: Any, pattern: Pattern, feature: np.ndarray) -> list[Start]:
        """The weights of the source's cliques of the same names; those of a chain are edges."""
        n_rows = len(getattr(source, "states_", source.classes_))
        tables = getattr(source, "clique_transition_", None)
        coefs = getattr(source, "clique_coef_", {})
        if tables is None:
            tables = {EDGES: source.transition_}
        starts = []
        for name, template in self.templates_.items():
            table = tables.get(name, np.zeros(0))
            n = template.features.width
            if table.shape != (n_rows,) * template.size:
                starts.append(Start(np.zeros(0), np.zeros((0, 0)), np.full(n, -1)))
                continue
            coef = coefs.get(name, np.zeros((0, table.size)))
            columns = np.full(n, -1)
            if coef.shape[0]:
                columns = self._clique_columns(name, source, feature)
            starts.append(Start(table.ravel(), coef.reshape(-1, table.size).T, columns))
        return starts

    def _clique_columns(self, name: str, source: Any, feature: np.ndarray) -> np.ndarray:
        """The source's feature of cliques for each of this one's, and -1 for none; `feature` says
        so of nodes.
        """
        return self.templates_[name].features.columns_in(source.templates_[name].features)

    def _node_labels(self) -> np.ndarray:
        """What a node may be labelled; here all labels."""
        return self.classes_

    def _label_codes(self, codes: np.ndarray) -> np.ndarray:
        """Codes of labels, from what inference chose; here these themselves."""
        return codes

    def _path(self, graphs: Any, labels: np.ndarray) -> np.ndarray:
        """What inference chooses from, where the labels are given; here these themselves."""
        return labels

    def _structure(self, sequences: Any, learned: bool) -> Structure:
        structure: Structure = sequences.structure
        return structure

    def _inputs(self, sequences: Any) -> Inputs:
        return Inputs(sequences.clique_rows)

    def _observe(self, sequences: Any, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        K = len(self.classes_)
        X = sequences.X.stored
        node = node_pairs(X, self._pairs_of(codes), codes, weight, K)
        families = []
        cliques = sequences.structure.families
        parts = zip(self.templates_, cliques, sequences.clique_rows, strict=True)
        for name, family, rows in parts:
            template = self.templates_[name]
            if n_columns(K, template.size) > MOST_COLUMNS:
                raise ValueError(
                    f"cliques {name!r} of {template.size} nodes have {K}**{template.size} "
                    f"labellings, more than {MOST_COLUMNS:,}; use fewer labels or narrower cliques"
                )
            width = template.features.width
            none = np.arange(0)
            ties = template.symmetric, template.potts
            pattern = CliquePattern(template.size, width, None, none, *ties)
            families.append(self._with_pairs(pattern, family, rows, (codes, weight), K))
        none = np.arange(0)
        return Pattern(X.shape[1], K, node, tuple(families), none, self.fit_intercept)

    def _pairs_of(self, codes: np.ndarray) -> Any:
        """What gives pairs (feature, label) their weights, for codes or masks."""
        if self.feature_pairs == "all":
            return all_pairs
        return observed_pairs if codes.ndim == 1 else masked_pairs

    def _with_pairs(
        self,
        pattern: CliquePattern,
        family: Family,
        rows: Matrix | None,
        labels: tuple[np.ndarray, np.ndarray],
        K: int,
    ) -> CliquePattern:
        """A pattern of K labels with the weights that the cliques show, whose nodes have codes or
        masks, and weights.
        """
        codes, weight = labels
        tied = pattern.ties(K)
        width = pattern.n_weighted(K)
        pattern = pattern._replace(columns=np.arange(width))
        if rows is None or not sp.issparse(rows):
            # a table of features would have a weight for each column
            features = each_pair(pattern.n_features, width) if pattern.potts else None
            return pattern._replace(features=features)
        of_cliques = weight[family.nodes].min(axis=1)
        if codes.ndim == 2:
            # what is open shows no labelling; all of them get a weight
            shown = np.zeros(len(family.nodes), np.int64)
            return pattern._replace(features=all_pairs(rows, shown, of_cliques, width, 1))
        shown = columns_of(codes, family, K)
        if tied is not None:
            shown = tied.column[shown]
        return pattern._replace(features=self._pairs_of(codes)(rows, shown, of_cliques, width, 1))
