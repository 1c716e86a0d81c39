#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox"]
# ///
"""Short names of what ``.ci/run`` runs, in environments that are kept.

nox                     lint and tests
nox -s docs             the pages, in docs/_build/html
nox -s tests -- tests/linear tests/test_repository.py
nox -s benchmarks       what benchmarks there are
"""

from __future__ import annotations

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"


@nox.session
def lint(session: nox.Session) -> None:
    """Rules, format and types of the code."""
    session.install("-e", ".[lint,docs]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, or those that are named after ``--``."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", "-n", "auto", "--dist", "worksteal", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The pages, with all examples; ``-D plot_gallery=0`` after ``--`` leaves these out."""
    session.install("-e", ".[lint,docs]")
    options = ["-W", "--keep-going", *session.posargs]
    session.run("python", "-m", "sphinx", *options, "-b", "html", "docs", "docs/_build/html")


@nox.session(default=False)
def benchmarks(session: nox.Session) -> None:
    """The list of benchmarks, or those that are named after ``--``."""
    session.install("-e", ".[benchmarks,datasets,plots]")
    session.run("python", "benchmarks/run.py", *session.posargs)


if __name__ == "__main__":
    nox.main()
