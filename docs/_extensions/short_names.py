"""Links of names that stand alone, such as `GridSearchCV` or `LinearChainCRF`.

Sphinx links a name only with its module. Here a name without a dot is looked up among the classes
and functions of this package, then among those of the inventories. A name that two of them have
gets no link.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from docutils import nodes
from refresh import may_stand_alone
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.intersphinx import InventoryAdapter
from sphinx.util.nodes import make_refnode

# a method has the name of many others
KINDS = ("class", "exception", "function")


def places(names: list[str]) -> dict[str, set[str]]:
    """Whole names by their last parts."""
    known = defaultdict(set)
    for name in names:
        known[name.rpartition(".")[2]].add(name)
    return known


def of_package(app: Sphinx, node: pending_xref, text: nodes.Element) -> nodes.reference | None:
    """A link to the name in this package, if there is one such name."""
    objects = app.env.domains["py"].objects  # type: ignore[attr-defined]
    wanted = [name for name, entry in objects.items() if entry.objtype in KINDS]
    names = places(wanted)[node["reftarget"]]
    if len(names) != 1:
        return None
    name = names.pop()
    entry = objects[name]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, text, name)


def of_others(app: Sphinx, node: pending_xref, text: nodes.Element) -> nodes.reference | None:
    """A link to the name in another project, if there is one such name."""
    inventory = InventoryAdapter(app.env).main_inventory
    items = {name: item for kind in KINDS for name, item in inventory.get(f"py:{kind}", {}).items()}
    names = places([name for name in items if may_stand_alone(name)])[node["reftarget"]]
    if len(names) != 1:
        return None
    name = names.pop()
    title = f"{name} (in {items[name].project_name})"
    return nodes.reference("", "", text, internal=False, refuri=items[name].uri, reftitle=title)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element
) -> nodes.reference | None:
    if node.get("refdomain") != "py" or "." in node["reftarget"]:
        return None
    return of_package(app, node, text) or of_others(app, node, text)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
