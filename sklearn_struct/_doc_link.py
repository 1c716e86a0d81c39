"""Where the HTML representation of an estimator links to, in scikit-learn's convention."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

__all__ = ["DocLink", "address"]


@cache
def address() -> str:
    """The address of the documentation that the installed package names among its URLs, or ""."""
    try:
        urls = metadata("sklearn-struct").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named: dict[str, str] = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


class DocLink:
    """Mixin, before `BaseEstimator`: the link to the class in the API reference, if it has one."""

    _doc_link_module = "sklearn_struct"
    _doc_link_public = "sklearn_struct"  # where users import the class from

    @property
    def _doc_link_template(self) -> str:
        # "" is scikit-learn's sign for no link
        if not address():
            return ""
        return f"{address()}/api/generated/{self._doc_link_public}.{{estimator_name}}.html"
