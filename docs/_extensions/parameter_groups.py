"""Parameters of estimators in groups, on their pages.

An estimator with more than `FEW` parameters gets a list of its groups, with links to the
parameters of each, and a heading above each group. `GROUPS` says which parameter is in which group.
Within a group they stand in the order of the table.
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
        order base durations max_length right_censored scheme outside end_features edge_features
        transition_inputs allowed_transitions constrain_training symmetric key max_pairs
        skip_features reach emissions n_mixtures autoregression stop boundary min_length constant
        distant_pairs
        horizontal_order vertical_order neighbours pairwise directions unary scale labels edges
        estimator cv
    """,
    "Hidden states": """
        n_states shared_states state_transitions tied tied_transitions hidden n_grammars
    """,
    "Features and their weights": """
        features segment_features candidates templates feature_pairs transition_features
        given_features input_features inside_features outside_features feature_count min_frequency
        min_freq all_possible_states all_possible_transitions n_features fit_intercept oov
        unknown_weight
    """,
    "Few or missing labels": """
        labeled_features prototypes target_weight distance majority entropy_weight classes
        penalty constrained n_best supervised_share n_rounds ignore_label unknown
    """,
    "Loss, penalty and smoothing": """
        loss C l1_ratio Cs l1_ratios scoring refit class_weight cost block_size blocks piece_size
        pieces n_steps inputs
        expectations n_samples sample_smoothing smoothing transition_smoothing duration_smoothing
        transition_penalty
        shrinkage covariance_type min_variance mean_smoothing covariance_smoothing nodes c1 c2 c
    """,
    "Sums over labellings": "inference max_sweeps inference_tol pruning",
    "Solver": """
        algorithm solver learning_rate svd_solver max_iter max_iterations tol epsilon delta init
        fixed n_init n_restarts warm_start annealing random_state pa_type error_sensitive averaging
        variance gamma num_memories period linesearch max_linesearch calibration_eta
        calibration_rate calibration_samples calibration_candidates calibration_max_trials
    """,
    "Predictions": "decoder beam_width",
    "Running": "n_jobs dtype memory verbose model_filename keep_tempfiles trainer_cls",
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
    ranks = {name: i for i, name in enumerate(" ".join(GROUPS.values()).split())}
    for item in sorted(items, key=lambda item: ranks.get(names_of(item)[0], len(ranks))):
        names = names_of(item)
        item[0]["ids"] = [f"{anchor}-{names[0]}"]
        grouped.setdefault(group_of(names[0]) or "Others", []).append((names, item))
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
