"""An estimator that is fitted where the data are."""

from __future__ import annotations

from typing import Any, Self

from dask.bag import Bag
from dask.delayed import delayed
from distributed import Client, Future, get_client
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._whole_fits import Published
from sklearn_struct.dask.cluster import ClusterShards, patient_cluster
from sklearn_struct.dask.collections import futures_of, is_distributed, partitions_of
from sklearn_struct.dask.tables import is_table, label_column
from sklearn_struct.distributed.fitting import fit_partitions, parts_of

__all__ = ["Distributed"]


class Distributed(DocLink, Published, MetaEstimatorMixin, BaseEstimator):
    """Fit an estimator on the workers of a Dask cluster, each of which keeps its data.

    What it learns is what the estimator itself learns from all data in one place: the same
    vocabulary, labels and pattern of weights, and weights that differ by rounding. Each partition
    is encoded once. In each evaluation of the objective a partition gets the weights of the
    features that it has, and sends back their derivatives, which are added in the order of the
    partitions.
    So the bits do not depend on the number of workers, on which of them does what, or on whether
    some were killed meanwhile.

    These can be fitted: `LinearChainCRF`, with all of its losses; `MEMM`; `PseudoLikelihoodCRF`;
    `PiecewiseCRF`; `GECRF`; by the solvers "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg" and
    "gradient". "auto" takes one of the first two, or "cutting-planes" for "hinge". And `HMM`, by
    counting or by EM, and `MEstimatedCRF`. The user guide has a table of what goes.

    One machine holds some 10 million tokens, and needs no network. Read more in
    :doc:`/user_guide/large_data`.

    Parameters
    ----------
    estimator : estimator or Pipeline
        What is to be fitted. A Pipeline has a `FeatureTemplates` or a `SequenceVectorizer` before
        the model.
    client : distributed.Client, default=None
        Of the cluster. None takes the client that was made last.

    Attributes
    ----------
    estimator_ : estimator or Pipeline
        A fitted copy of `estimator`, which knows nothing of the cluster: it predicts, is saved and
        inspected as any other.

    See Also
    --------
    sklearn_struct.distributed.FileShards : Partitions in files of one machine.

    Examples
    --------
    >>> import dask.bag as db
    >>> from dask.distributed import Client
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.dask import Distributed
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     bags = [db.from_sequence(sequences, npartitions=2) for sequences in (X, y)]
    ...     crf = Distributed(LinearChainCRF(C=10)).fit(*bags).estimator_
    >>> crf.predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    """

    def __init__(self, estimator: Any, client: Client | None = None) -> None:
        self.estimator = estimator
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit a copy of the estimator.

        Parameters
        ----------
        X : dask.bag.Bag of sequences, dask.dataframe.DataFrame, or list of Delayed or Future
            A table has a row for each token. Its index tells sequences apart, and its divisions
            are known: ``table.set_index("sentence", sorted=True)``. Each item of a list stands for
            some sequences, in any form that the estimator's own `fit` takes, all in the same one. A
            partition should have 200,000 tokens or more.
        y : as X, default=None
            The labels, in as many partitions, of the same sequences: beside a table one of its
            columns, with the same index. `GECRF` and `HMM` do without.
        sample_weight : Bag, or list of Delayed or Future, default=None
            A weight of each sequence, in as many partitions.
        init : fitted estimator of the same family, default=None
            Start from its weights.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If dask or distributed are not installed, when this module is imported.
        InputTypeError
            If the estimator cannot be fitted on partitions, X is no collection, or the index of a
            table does not tell sequences apart.
        LengthMismatchError
            If y or weights have another number of partitions, or other lengths.
        ValueError
            If the solver goes from one example to the next, or there is no client.
        RuntimeError
            If a worker has another version of this package.
        distributed.scheduler.NoWorkerError
            If there has been no worker for 50 seconds.
        distributed.scheduler.KilledWorker
            If four workers have died of the same partition.

        Other errors are those of the estimator's own `fit`; a note says in which partition. The
        estimator is then as it was before.
        """
        # before anything is computed
        parts_of(self.estimator)
        client = self._client()
        with patient_cluster(client):
            shards = ClusterShards(client, futures_of(client, X, y, sample_weight))
            self.estimator_ = fit_partitions(self.estimator, shards, init)
        return self

    def predict(self, X: Any) -> Any:
        """Predict labels, where X is.

        Parameters
        ----------
        X : dask.bag.Bag, DataFrame, list of Delayed or Future, or what the estimator takes

        Returns
        -------
        dask.bag.Bag, dask.dataframe.Series, list of Delayed or Future, or ndarray
            Of a bag a bag with the labels of each sequence, of a table a column with the label of
            each token and the same index: nobody has computed them yet. Of a
            list of delayed values or futures a list of the same, each of an array of some
            sequences. Of anything else what the estimator predicts here.
        """
        check_is_fitted(self)
        if not is_distributed(X):
            return self.estimator_.predict(X)
        # once in the graph, whatever the number of partitions
        model = delayed(self.estimator_, traverse=False)
        if is_table(X):
            return label_column(X, model)
        if isinstance(X, Bag):
            return X.map_partitions(labels_of, model)
        return [
            self._client().submit(labels_of, part, self.estimator_)
            if isinstance(part, Future)
            else delayed(labels_of)(part, model)
            for part in partitions_of(X, "X")
        ]

    def _client(self) -> Client:
        if self.client is not None:
            return self.client
        try:
            return get_client()
        except ValueError:
            raise ValueError(
                "there is no client: make one by dask.distributed.Client(address), or by Client() "
                "for workers on this machine"
            ) from None


def labels_of(X: Any, model: Any) -> Any:
    """The labels of the sequences of a partition."""
    if not hasattr(X, "__len__"):
        X = list(X)
    return model.predict(X) if len(X) else []
