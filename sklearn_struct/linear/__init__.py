"""The linear map tokens x features -> potentials, and its transpose: the only place where X meets
W.

theta = X W for the rows of a block, gradient = X' R for the residuals R = d loss / d theta. Four
maps, by the kind of X and the width of theta:

==================  ======================================  ===============================================
`dense.DenseMap`    dense X                                 every pair (feature, label) has a weight; BLAS
`rows.RowsMap`      sparse X, theta as wide as the labels   weights of a feature form a dense padded row
`lookup.LookupMap`  the same, in prediction                 rows that are numbered once, for any X; forward
`pairs.PairsMap`    sparse X, theta as wide as label pairs  loops over the pairs that have a weight
==================  ======================================  ===============================================

Outside, parameters are compact: one number for each pair (`observed` finds them), ordered by
feature, then label. Inside a map they are `expanded` to the layout in which it computes.
"""
