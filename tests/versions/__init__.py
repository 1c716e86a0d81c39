"""Two versions of the package on the same data: results, files of models, and speed."""
