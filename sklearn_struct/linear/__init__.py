"""The linear map tokens x features -> potentials, and its transpose.

theta = X W for the rows of a block, gradient = X' R for the residuals R = d loss / d theta. This is
the only room in which X meets W. There are four maps, by the kind of X and the width of theta:

=========================  ====================================================================
`dense.DenseMap`           dense X; every pair (feature, label) has a weight; BLAS
`padded_rows.RowsMap`      sparse X, theta as wide as the labels; a padded row for each feature
`lookup.LookupMap`         the same in prediction, forward only: rows are numbered once, for any X
`pairs.PairsMap`           sparse X, theta as wide as label pairs: loops over pairs with a weight
=========================  ====================================================================

Outside, parameters are compact: one number for each pair (`observed_pairs` finds them), ordered by
feature, then label. Inside a map they are `expanded` to the layout in which it computes.
"""
