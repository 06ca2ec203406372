"""A tree in the language of Graphviz. In: a `Model`. Out: a string."""

from __future__ import annotations

from .._data.features import one_line
from .naming import COLOURS, Model


def export_dot(model: Model) -> str:
    """Return the tree as a digraph with a coloured box per node."""
    lines = [
        "digraph Tree {",
        'node [shape=box, style="filled, rounded", fontname="helvetica"];',
        'edge [fontname="helvetica"];',
    ]
    for node in range(model.tree.node_count):
        predicted = model.predicted(node)
        head = model.class_names[predicted] if model.is_leaf(node) else f"{model.literal(node).yes}?"
        label = "\n".join(one_line(text) for text in (head, model.confidence(node), model.counts(node)))
        colour = _tint(predicted, float(model.shares(node)[predicted]))
        lines.append(f"{node} [label={_string(label)}, fillcolor={_string(colour)}];")
        if not model.is_leaf(node):
            yes, no = model.children(node)
            lines += [f'{node} -> {yes} [label="yes"];', f'{node} -> {no} [label="no"];']
    return "\n".join([*lines, "}", ""])


def _tint(class_index: int, share: float) -> str:
    """Return the colour of a class, paler if it has a smaller share of the node."""
    base = COLOURS[class_index % len(COLOURS)]
    strength = 0.15 + 0.6 * max(0.0, min(1.0, share))
    channels = [int(base[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - channel) * strength):02x}" for channel in channels)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
