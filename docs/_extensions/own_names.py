"""Links to the package's public names from every page, and a warning for names that do not exist.

A single name in backquotes, such as `LinearChainCRF`, becomes a link wherever it stands, without
``currentmodule``. A name that begins with a capital letter and belongs to nobody is a misprint.
"""

from __future__ import annotations

import builtins
from pydoc import locate
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

PACKAGE = "sklearn_struct"
SHORTEST = 4  # letters: capitals such as `C` and `X` are parameters
# names of others that pages mention without their modules
OTHERS = {
    "ConvergenceWarning",
    "FeatureUnion",
    "FrozenEstimator",
    "GridSearchCV",
    "LogisticRegression",
    "SelectKBest",
    "SimpleImputer",
    "StandardScaler",
}


def own_name(target: str, names: list[str]) -> str | None:
    """The public name that a short one stands for; None if there is none, or more than one."""
    if not target[:1].isupper():
        return None
    full = [name for name in names if name.endswith(f".{target}")]
    return full[0] if len(full) == 1 else None


def is_misprint(target: str) -> bool:
    """Whether a name that leads nowhere looks like one of ours."""
    if target.startswith(f"{PACKAGE}."):
        return locate(target) is None
    first = target.split(".")[0]
    is_class = first[:1].isupper() and len(first) >= SHORTEST and first.isidentifier()
    return is_class and first not in OTHERS and not hasattr(builtins, first)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.reference | None:
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    objects = env.domains.python_domain.objects
    # an alias is where the code lies, which is not how users import it
    public = [name for name, entry in objects.items() if not entry.aliased]
    name = own_name(target, [name for name in public if name.startswith(f"{PACKAGE}.")])
    if name is not None:
        entry = objects[name]
        page = node.get("refdoc", env.docname)
        return make_refnode(app.builder, page, entry.docname, entry.node_id, content, name)
    if is_misprint(target):
        logging.getLogger(__name__).warning("no such name: %s", target, location=node)
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", resolve, priority=900)  # after inventories of others
    return {"parallel_read_safe": True}
