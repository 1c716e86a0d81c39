"""Fits on data that lie in partitions, in several places or in files."""
