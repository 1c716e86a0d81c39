"""Templates over columns of words, tags and the like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.ragged import bounds
from sklearn_struct.containers.repeated_ones import ones
from sklearn_struct.containers.sequence_array import SequenceArray, sequence_array
from sklearn_struct.encoding.features.attribute_rows import csr
from sklearn_struct.encoding.features.column_codes import (
    Table,
    Windows,
    combine,
    end_keys,
    fill_rows,
    learn_keys,
    read_table,
)
from sklearn_struct.encoding.features.learned_templates import Learnt
from sklearn_struct.encoding.features.template_numbers import find_numbers
from sklearn_struct.encoding.features.template_syntax import Template, parse_templates
from sklearn_struct.encoding.features.token_attributes import FloatType
from sklearn_struct.encoding.features.vectorizer import float_dtype
from sklearn_struct.exceptions import EmptyDataError

__all__ = ["FeatureTemplates"]


FEW = 2000  # tokens for which one call is quicker than several a template


# without set_output: a SequenceArray is no table that a data frame could hold
class FeatureTemplates(
    DocLink, Published, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    r"""Turn sequences of rows (word, tag, …) into sparse 0/1 tokens, by templates.

    A template such as ``U05:%x[-1,0]/%x[0,0]`` names cells by their offset from the present token
    and their column, as in CRF++: here column 0 of the token before and of the token itself. Each
    combination of values in the training data becomes one attribute, such as ``U05:the/dog``. The
    names are only made by `get_feature_names_out`.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    templates : list of str, or str, default="chunking"
        Templates; or the text of a template file, with blank lines and comments (``#``); or the
        name of a set in ``TEMPLATE_SETS``: "chunking", also called "sha-pereira" after [1]_. A
        template is an optional id and a colon, then cells joined by ``/`` or ``|``. Without an id
        the template's own text is its id. A bare ``B`` adds nothing, as every chain has transition
        weights.
    columns : list of str, default=None
        Names of the columns, which templates then may use instead of numbers: ``%x[0,word]``.
    boundary : {"skip", "pad"}, default="skip"
        What happens if a cell of a template lies outside the sequence. "skip": the template gives
        no attribute. "pad": the cell has a special value, ``_B-1`` for the position before the
        first token, ``_B+1`` for the one after the last.
    add_bos_eos : bool, default=False
        Whether first tokens get the attribute ``__BOS__`` and last tokens ``__EOS__``.
    min_frequency : int, default=1
        Attributes of fewer tokens of the training data are dropped.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the ones that are stored.

    Attributes
    ----------
    n_columns_ : int
        Number of columns of the rows.
    n_features_out_ : int
        Number of attributes.

    See Also
    --------
    SequenceVectorizer : For tokens that are dicts or lists of strings.
    SequenceUnion : Puts the features of several transformers side by side.

    References
    ----------
    .. [1] F. Sha and F. Pereira, "Shallow parsing with conditional random fields", HLT-NAACL 2003.

    Examples
    --------
    >>> from sklearn_struct import FeatureTemplates
    >>> X = [[("the", "DT"), ("dog", "NN")], [("a", "DT")]]
    >>> templates = FeatureTemplates(["w:%x[0,0]", "bigram:%x[-1,1]/%x[0,1]"])
    >>> tokens = templates.fit_transform(X)
    >>> tokens
    SequenceArray(n_sequences=2, n_tokens=3, n_features=4)
    >>> templates.get_feature_names_out().tolist()
    ['w:the', 'w:dog', 'w:a', 'bigram:DT/NN']
    >>> tokens[0].toarray()
    array([[1., 0., 0., 0.],
           [0., 1., 0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "templates": [str, list, tuple],
        "columns": [list, tuple, None],
        "boundary": [StrOptions({"skip", "pad"})],
        "add_bos_eos": ["boolean"],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        # checked by float_dtype, which knows all the ways to name a dtype
        "dtype": "no_validation",
    }

    def __init__(
        self,
        templates: str | Sequence[str] = "chunking",
        columns: Sequence[str] | None = None,
        boundary: str = "skip",
        add_bos_eos: bool = False,
        min_frequency: int = 1,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.templates = templates
        self.columns = columns
        self.boundary = boundary
        self.add_bos_eos = add_bos_eos
        self.min_frequency = min_frequency
        self.dtype = dtype

    def fit(self, X: Iterable[Any], y: object = None) -> FeatureTemplates:
        """Learn the values of the columns and their combinations.

        Parameters
        ----------
        X : iterable of sequences
            A sequence is a list of tuples or lists of column values, or a 2-D array. A generator is
            read once.
        y : None
            Ignored.

        Returns
        -------
        self : FeatureTemplates

        Raises
        ------
        ValueError
            If a template is malformed, its id occurs twice, or it names a column that is not there.
        EmptyDataError
            If X has no tokens.
        InputTypeError, LengthMismatchError, NonFiniteError
            If something in X is of a wrong type, of a wrong number of columns, or NaN.
        """
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Iterable[Any], y: object = None) -> SequenceArray:
        """Learn the combinations and encode X, in one pass over X.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        encoded : SequenceArray
            The tokens of X, in a CSR array of shape ``(n_tokens, n_features_out_)``; names are
            spelt out on demand.
        """
        dtype = float_dtype(self.dtype)
        templates = parse_templates(self.templates, self.columns)
        table = read_table(X)
        n_columns = len(table.values)
        if not n_columns:
            raise EmptyDataError("X has no tokens to learn from")
        _check_columns(templates, self.columns, n_columns)
        if self.add_bos_eos:
            templates += [Template(name, (), "", name) for name in ("__BOS__", "__EOS__")]
        # the reach is at least the token itself, whatever the templates
        offsets = [0, *(offset for template in templates for offset, _ in template.parts)]
        learnt = Learnt(
            templates, table.values, (-min(offsets), max(offsets)), self.boundary == "pad", [], []
        )
        # before anything is set: an error must leave the last fit as it was
        numbers = _number(table, learnt, self.min_frequency)
        self._learnt = learnt
        self.n_columns_ = n_columns
        self.n_features_out_ = sum(map(len, learnt.indexes))
        return self._assemble(numbers, table.offsets, dtype)

    def transform(self, X: Iterable[Any]) -> SequenceArray:
        """Encode X. Values and combinations that are not in the training data are ignored.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.

        Returns
        -------
        encoded : SequenceArray
            The tokens of X, in a CSR array of shape ``(n_tokens, n_features_out_)``; names are
            spelt out on demand.

        Raises
        ------
        NotFittedError
            If `fit` has not been called.
        InputTypeError, LengthMismatchError
            As for `fit`.
        """
        # scikit-learn's check asks for all tags, which takes longer than to look here
        if "_learnt" not in vars(self):
            check_is_fitted(self)
        table = read_table(X, self._learnt.values)
        numbers = _find(table, self._learnt)
        return self._assemble(numbers, table.offsets, float_dtype(self.dtype))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        r"""Names of the attributes: id, colon, and the values joined as in the template.

        Backslashes and the template's joiners are escaped by a backslash where they occur in
        values, and a value written like another one (``1`` and ``"1"``) gets a number in front, so
        that no two names are equal.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects, shape ``(n_features_out_,)``
        """
        check_is_fitted(self)
        return self._learnt()

    def _assemble(
        self, numbers: np.ndarray, offsets: np.ndarray, dtype: FloatType
    ) -> SequenceArray:
        first = bounds(np.array([*map(len, self._learnt.indexes)]))
        indptr = np.zeros(numbers.shape[1] + 1, np.int64)
        columns = np.empty(np.count_nonzero(numbers >= 0), np.int32)
        fill_rows(numbers, first, indptr, columns)
        tokens = csr(ones(len(columns), dtype), columns, indptr, self.n_features_out_)
        return sequence_array(tokens, offsets, self._learnt)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags


def _check_columns(
    templates: list[Template], columns: Sequence[str] | None, n_columns: int
) -> None:
    if columns is not None and len(columns) != n_columns:
        raise ValueError(
            f"columns={list(columns)} names {len(columns)} columns, but tokens have {n_columns}"
        )
    for template in templates:
        last = max(column for _, column in template.parts)
        if last >= n_columns:
            raise ValueError(
                f"template {template.text!r} names column {last}, but tokens have {n_columns} "
                "columns"
            )


def _number(table: Table, learnt: Learnt, min_frequency: int | None = None) -> np.ndarray:
    """Numbers (templates, tokens) of the combinations, -1 for none.

    With `min_frequency` they are learned: `learnt` is filled.
    """
    # templates share cells, and reading one takes a pass over the tokens
    codes_at = cache(Windows(table, learnt.reach, learnt.pad).at)
    sizes = [learnt.n_codes(c) for c in range(len(learnt.values))]
    numbers = np.empty((len(learnt.templates), table.offsets[-1]), np.int32)
    for j, template in enumerate(learnt.templates):
        if template.parts:
            codes = [codes_at(offset, c) for offset, c in template.parts]
            # a fit learns them, a prediction looks them up
            stages = learnt.stages[j] if min_frequency is None else None
            keys, radix, stages = combine(codes, [sizes[c] for _, c in template.parts], stages)
        else:
            keys = end_keys(table.offsets, template.name == "__EOS__")
            radix = 1
            stages = {}
        if min_frequency is not None:
            learnt.stages.append(stages)
            index, numbers[j] = learn_keys(keys, radix, min_frequency)
            learnt.indexes.append(index)
        else:
            numbers[j] = learnt.indexes[j].find(keys)
    return numbers


def _find(table: Table, learnt: Learnt) -> np.ndarray:
    """What `_number` gives where nothing is learned."""
    # arrays of all tokens are quicker where there are many; keys may have to be numbered anew
    if table.offsets[-1] > FEW or any(learnt.stages) or not table.codes:
        return _number(table, learnt)
    cells, indexes = learnt.tables()
    numbers = np.empty((len(learnt.templates), table.offsets[-1]), np.int32)
    special = learnt.reach if learnt.pad else (-1, -1)
    keys = np.empty(table.offsets[-1], np.int64)
    find_numbers(np.array(table.codes), table.offsets, special, cells, indexes, keys, numbers)
    return numbers
