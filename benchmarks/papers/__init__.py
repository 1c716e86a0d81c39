"""Experiments of papers, done again."""
