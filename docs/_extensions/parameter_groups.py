"""Parameters of estimators in groups, on their pages.

An estimator with more than `FEW` parameters gets a list of its groups, with links to the
parameters of each, and a heading above each group. `GROUPS` says which parameter is in which group.
Within a group parameters keep their order.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import desc, desc_content, desc_signature
from sphinx.application import Sphinx

FEW = 10

# the parameters of every estimator that predicts
GROUPS = {
    "Model": """
        allowed_transitions base boundary constant constrain_training distant_pairs
        edge_features emissions horizontal_order key max_pairs min_length order reach
        skip_features stop symmetric vertical_order
    """,
    "Hidden states": """
        hidden n_grammars n_states shared_states state_transitions tied tied_transitions
    """,
    "Features and their weights": """
        all_possible_states all_possible_transitions candidates feature_count feature_pairs
        features fit_intercept given_features input_features inside_features min_freq
        min_frequency n_features oov outside_features templates transition_features
        unknown_weight
    """,
    "Knowledge besides labels": """
        classes constrained distance entropy_weight labeled_features majority n_best penalty
        prototypes supervised_share target_weight
    """,
    "Loss, penalty and smoothing": """
        C block_size blocks c c1 c2 class_weight cost expectations inputs l1_ratio loss
        min_variance n_rounds n_samples n_steps nodes piece_size pieces sample_smoothing
        shrinkage smoothing transition_smoothing
    """,
    "Sums over labellings": "inference inference_tol max_sweeps pruning",
    "Solver": """
        algorithm annealing averaging calibration_candidates calibration_eta
        calibration_max_trials calibration_rate calibration_samples delta epsilon
        error_sensitive gamma init learning_rate linesearch max_iter max_iterations
        max_linesearch n_init n_restarts num_memories pa_type period random_state solver
        svd_solver tol variance warm_start
    """,
    "Predictions": "beam_width decoder",
    "Running": "dtype keep_tempfiles memory model_filename n_jobs trainer_cls verbose",
}


def group_of(parameter: str) -> str | None:
    """The first group that has the parameter."""
    return next((group for group, names in GROUPS.items() if parameter in names.split()), None)


def names_of(item: nodes.definition_list_item) -> list[str]:
    """The parameters that one entry describes, such as c1 and c2."""
    term = next(iter(item.findall(nodes.strong)), item[0])
    return term.astext().split(", ")


def in_groups(
    items: list[nodes.definition_list_item], anchor: str
) -> dict[str, list[tuple[list[str], nodes.definition_list_item]]]:
    """Entries by their groups, each with its names and an id."""
    grouped: dict[str, list[tuple[list[str], nodes.definition_list_item]]] = {}
    for group in (*GROUPS, None):
        for item in items:
            names = names_of(item)
            if group_of(names[0]) == group:
                item[0]["ids"] = [f"{anchor}-{names[0]}"]
                grouped.setdefault(group or "Others", []).append((names, item))
    return grouped


def overview(grouped: dict[str, list[tuple[list[str], nodes.definition_list_item]]]) -> nodes.Node:
    """A line for each group, with links to its parameters."""
    lines = nodes.bullet_list(classes=["parameter-groups"])
    for group, entries in grouped.items():
        line = nodes.paragraph("", "", nodes.strong("", group), nodes.Text(": "))
        for i, (names, item) in enumerate(entries):
            for j, name in enumerate(names):
                line += nodes.Text(", " if i or j else "")
                target = item[0]["ids"][0]
                line += nodes.reference(
                    "", "", nodes.literal("", name), refid=target, internal=True
                )
        lines += nodes.list_item("", line)
    return lines


def divide(body: nodes.field_body, anchor: str) -> None:
    """Put the entries of a section into groups."""
    items = list(body.findall(nodes.definition_list_item))
    items = [item for item in items if item.parent.parent is body]
    if sum(len(names_of(item)) for item in items) <= FEW:
        return
    grouped = in_groups(items, anchor)
    body.clear()
    body += overview(grouped)
    for group, entries in grouped.items():
        body += nodes.rubric("", group, classes=["parameter-group"])
        body += nodes.definition_list("", *(item for _, item in entries))


def group(app: Sphinx, doctree: nodes.document) -> None:
    for one in list(doctree.findall(desc)):
        if one.get("objtype") != "class":
            continue
        signature = next(iter(one.findall(desc_signature)))
        content = next(child for child in one.children if isinstance(child, desc_content))
        for fields in content.children:
            if isinstance(fields, nodes.field_list):
                for field in fields.children:
                    if field[0].astext() == "Parameters" and signature["ids"]:
                        divide(field[1], signature["ids"][0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", group)
    return {"parallel_read_safe": True}
