"""Links of names without their modules, such as `GridSearchCV`, `LinearChainCRF` and
`GraphCRF.fit`, from every page; and a warning for names that do not exist.

Sphinx links a name only with its module, or where ``currentmodule`` stands above it. Here a name is
looked up among the public names of this package, then among those of the inventories. One that two
of them have gets no link. What then is left is a misprint if it looks like a name of ours.
"""

from __future__ import annotations

import builtins
from pydoc import locate
from typing import Any

from docutils import nodes
from refresh import may_stand_alone
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.intersphinx import InventoryAdapter
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

PACKAGE = "sklearn_struct"
# a method has the name of many others, but not together with that of its class
KINDS = ("class", "exception", "function")
SHORTEST = 4  # letters of a class: capitals such as `C` and `X` are parameters


def whole_name(target: str, kinds: dict[str, str]) -> str | None:
    """The only name that ends so, of those whose kind is given; None if there is none, or two."""
    ends = [
        name
        for name, kind in kinds.items()
        if name.endswith(f".{target}") and (kind in KINDS or "." in target)
    ]
    return ends[0] if target and len(ends) == 1 else None


def is_misprint(target: str) -> bool:
    """Whether a name that leads nowhere looks like one of ours."""
    if target.startswith(f"{PACKAGE}."):
        return locate(target) is None
    first = target.split(".")[0]
    is_class = first[:1].isupper() and len(first) >= SHORTEST and first.isidentifier()
    return is_class and not hasattr(builtins, first)


def of_package(
    app: Sphinx, node: pending_xref, content: nodes.Element, page: str
) -> nodes.reference | None:
    """A link to the name in this package, if there is one such name."""
    objects = app.env.domains.python_domain.objects
    # an alias is where the code lies, which is not how users import it
    kinds = {
        name: entry.objtype
        for name, entry in objects.items()
        if name.startswith(f"{PACKAGE}.") and not entry.aliased
    }
    name = whole_name(node["reftarget"], kinds)
    if name is None:
        return None
    entry = objects[name]
    return make_refnode(app.builder, page, entry.docname, entry.node_id, content, name)


def of_others(app: Sphinx, node: pending_xref, content: nodes.Element) -> nodes.reference | None:
    """A link to the name in another project, if there is one such name."""
    inventory = InventoryAdapter(app.env).main_inventory
    items = {
        name: (kind, item)
        for kind in KINDS
        for name, item in inventory.get(f"py:{kind}", {}).items()
        if may_stand_alone(name)
    }
    name = whole_name(node["reftarget"], {name: kind for name, (kind, _) in items.items()})
    if name is None:
        return None
    _, item = items[name]
    title = f"{name} (in {item.project_name})"
    return nodes.reference("", "", content, internal=False, refuri=item.uri, reftitle=title)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.reference | None:
    if node.get("refdomain") != "py":
        return None
    page = node.get("refdoc", env.docname)
    reference = of_package(app, node, content, page) or of_others(app, node, content)
    if reference is None and is_misprint(node["reftarget"]):
        target = node["reftarget"]
        logging.getLogger(__name__).warning("no such name: %s", target, location=node)
    return reference


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
