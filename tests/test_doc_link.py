"""Links of HTML representations to the API reference."""

from __future__ import annotations

from email.message import Message
from importlib.metadata import PackageNotFoundError

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from sklearn_struct import (
    FeatureTemplates,
    Lexicon,
    LinearChainCRF,
    ProductFeatures,
    PrototypeFeatures,
    SequenceUnion,
    SequenceVectorizer,
    _doc_link,
    compat,
)

ESTIMATORS = {
    "LinearChainCRF": LinearChainCRF(),
    "SequenceVectorizer": SequenceVectorizer(),
    "FeatureTemplates": FeatureTemplates(),
    "SequenceUnion": SequenceUnion([("words", SequenceVectorizer())]),
    "ProductFeatures": ProductFeatures(str.split),
    "Lexicon": Lexicon({"New York"}),
    "PrototypeFeatures": PrototypeFeatures(["word"]),
    "compat.CRF": compat.CRF(),
}


@pytest.fixture
def urls(monkeypatch):
    """A function that sets the URLs of the installed package."""

    def set_urls(*urls):
        package = Message()
        for url in urls:
            package["Project-URL"] = url
        monkeypatch.setattr(_doc_link, "metadata", lambda name: package)
        _doc_link.address.cache_clear()

    yield set_urls
    _doc_link.address.cache_clear()


@pytest.mark.parametrize(("name", "estimator"), ESTIMATORS.items(), ids=ESTIMATORS)
def test_links_to_the_page_of_the_class(urls, name, estimator):
    urls("Source, https://source.local", "Documentation, https://docs.local/stable/")
    page = f"https://docs.local/stable/api/generated/sklearn_struct.{name}.html"
    assert estimator._get_doc_link() == page
    assert page in estimator_html_repr(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_no_link_without_an_address(urls, estimator):
    urls("Source, https://source.local")
    assert estimator._get_doc_link() == ""
    assert "source.local" not in estimator_html_repr(estimator)


def test_no_link_for_estimators_of_others(urls):
    urls("Documentation, https://docs.local")

    class Mine(LinearChainCRF):
        pass

    assert Mine()._get_doc_link() == ""
    assert "docs.local" not in BaseEstimator()._get_doc_link()


def test_a_package_that_is_not_installed_has_no_address(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_doc_link, "metadata", missing)
    _doc_link.address.cache_clear()
    assert _doc_link.address() == ""
    _doc_link.address.cache_clear()
