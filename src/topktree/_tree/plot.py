"""A fitted tree as a picture, drawn with matplotlib.

In: a `Model` and, if the user has one, the Axes to draw into. Out: the Axes. The one idea: everything is measured and
placed in units of the font size ("em"), so one layout fits any Axes by the choice of its font size, and boxes that do
not overlap at one size do not overlap at any.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._data.arrays import FloatArray
from .._data.columns import AT_MOST
from .._data.features import one_line
from .naming import COLOURS, Literal, Model, colours_of_heaviest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

try:  # this file is imported when something is drawn
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb
    from matplotlib.font_manager import FontProperties
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
    from matplotlib.path import Path
    from matplotlib.textpath import text_to_path
    from matplotlib.transforms import Affine2D
except ImportError as error:
    raise ImportError("plot needs matplotlib: pip install topktree[plot]") from error

# The width of a text in em; True for bold.
Ruler = Callable[[str, bool], float]

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

# Points. The largest font is matplotlib's own setting. A new figure stays within LARGEST_FIGURE while its font is at
# least SMALLEST_FONT.
READABLE_FONT = 8.0
SMALLEST_FONT = 7.0
LARGEST_FIGURE = (16 * 72.0, 10 * 72.0)
FIGURE_PAD = 6.0

# Em.
LINE = 1.25
DETAIL_SIZE = 0.85
PADDING = 0.5
BAR_HEIGHT = 0.4
BOX_GAP = 0.9
ROW_GAP = 2.5
LONGEST_TEXT = 24.0
NARROWEST_BOX = 4.2  # as wide as two edge labels
LEGEND_GAP = 1.4
LEGEND_TEXT = 14.0
LEGEND_WIDTH = 26.0  # a narrower tree may have a legend of this width
SWATCH = 0.8

LARGEST_SPREAD = 1.5  # factor by which boxes move apart where the Axes are wider than the layout
WIDEST_EDGE = 0.5  # em, for an edge that all rows pass
# Text on a grid of pixels is wider than its outlines: usually by 5%, rarely by 15%.
HINTING = 1.05

# The two layouts: em for the text of a leaf or of a node with few leaves below, and the wording of the number of rows.
ROOMY = (18.0, "{:,} row{}")
NARROW = (6.0, "n={:,}")

# Every class has its colour if there are enough, else those that the leaves predict most often.
FEW_COLOURS = (*COLOURS, "#7b4a1e", "#333333")
MANY_COLOURS = tuple(colour for colour in FEW_COLOURS if colour != "#999999")  # too similar to OTHERS_COLOUR
OTHERS_COLOUR = "#d4d4d4"
OWN_COLOUR = "#8c8c8c"  # at a leaf: its class, if that shares OTHERS_COLOUR
INK = "#222222"
FAINT_INK = "#555555"
EDGE_COLOUR = "#a8a8a8"


@dataclass(frozen=True)
class _Box:
    """The text of a node and its size in em."""

    head: list[str]  # class or question, on one line or two
    details: list[str]
    width: float
    height: float


@dataclass(frozen=True)
class _Layout:
    """Boxes and their positions in em, with the smallest gaps."""

    boxes: list[_Box]  # per node
    x: FloatArray  # per node: centre, from the left end of the tree
    depths: list[int]  # per node
    row_heights: list[float]  # per depth
    legend: list[list[tuple[str, str, float]]]  # rows of colour, text and width
    tree_width: float
    width: float

    def height(self, gap: float = ROW_GAP) -> float:
        """Return the height if rows of boxes are `gap` apart."""
        legend = LEGEND_GAP + LINE * len(self.legend) if self.legend else 0.0
        return sum(self.row_heights) + gap * (len(self.row_heights) - 1) + legend


def plot_tree(model: Model, ax: Axes | None = None) -> Axes:
    """Draw the tree into `ax`, or into a new figure that fits it."""
    ruler, colours, largest = _make_ruler(), class_colours(model), float(rcParams["font.size"])
    layouts = [_lay_out(model, *style, colours, ruler) for style in (ROOMY, NARROW)]
    if ax is None:
        layout, font = _choose(layouts, largest, *LARGEST_FIGURE)
        font = max(font, min(SMALLEST_FONT, largest))
        ax = _fitting_axes(layout, font)
        ax.set_axis_off()
    else:
        ax.set_axis_off()
        layout, font = _choose(layouts, largest, *_size(ax))
    _Picture(model, layout, colours, ax, font).draw()
    return ax


def class_colours(model: Model) -> list[str]:
    """Return the colour of each class; with many classes only those that leaves predict most have their own."""
    n_classes = len(model.class_names)
    at_leaves = model.tree.value[model.tree.is_leaf]
    predicted = np.bincount(np.argmax(at_leaves, axis=1), at_leaves.max(axis=1), minlength=n_classes)
    own = colours_of_heaviest(predicted, FEW_COLOURS if n_classes <= len(FEW_COLOURS) else MANY_COLOURS)
    return [own.get(c, OTHERS_COLOUR) for c in range(n_classes)]


def shorten(text: str, fits: Callable[[str], bool]) -> str:
    """Return the text, or as much of its two ends as fits around an ellipsis."""

    def ends(kept: int) -> str:
        tail = kept // 2
        return text[: kept - tail] + ELLIPSIS + text[len(text) - tail :]

    if fits(text):
        return text
    return ends(bisect_left(range(1, len(text)), True, key=lambda kept: not fits(ends(kept))))


def new_axes(width: float, height: float, layout: Any) -> Axes:
    """Return Axes that fill a new figure of this many inches."""
    import matplotlib.pyplot as plt  # not needed by users who bring their own Axes

    return plt.figure(figsize=(width, height), layout=layout).add_subplot()


def _make_ruler() -> Ruler:
    fonts = {bold: FontProperties(size=100, weight="bold" if bold else None) for bold in (False, True)}

    @cache
    def measure(text: str, bold: bool) -> float:
        width: float = text_to_path.get_text_width_height_descent(text, fonts[bold], False)[0]
        return HINTING * width / 100

    return measure


def _fitting_axes(layout: _Layout, font: float) -> Axes:
    """Return Axes that fill a new figure; a title that is set later gets its own room."""
    gap = min(max(ROW_GAP, 0.05 * layout.tree_width), 6.0)  # wide trees look better with steeper edges
    width, height = layout.width * font + 2 * FIGURE_PAD, layout.height(gap) * font + 2 * FIGURE_PAD
    engine = ConstrainedLayoutEngine(w_pad=FIGURE_PAD / 72, h_pad=FIGURE_PAD / 72)
    return new_axes(width / 72, height / 72, engine)


def _size(ax: Axes) -> tuple[float, float]:
    """Return width and height in points, once the figure has laid out its Axes."""
    figure = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    extent = ax.get_window_extent()
    return extent.width * 72 / figure.dpi, extent.height * 72 / figure.dpi


def _choose(layouts: Sequence[_Layout], largest: float, width: float, height: float) -> tuple[_Layout, float]:
    """Return the first layout that is about as readable as the best in this many points, and its font size."""
    fonts = [min(largest, width / layout.width, height / layout.height()) for layout in layouts]
    wanted = 0.93 * min(READABLE_FONT, max(fonts))
    return next((layout, font) for layout, font in zip(layouts, fonts, strict=True) if font >= wanted)


def _lay_out(model: Model, text_width: float, rows_text: str, colours: Sequence[str], ruler: Ruler) -> _Layout:
    # A box no wider than the leaves below it does not make the tree wider.
    n_leaves = model.tree.sums_below(np.ones(model.tree.node_count))
    limits = np.clip(NARROWEST_BOX * n_leaves, text_width, LONGEST_TEXT).tolist()
    boxes = [_make_box(model, node, rows_text, limit, ruler) for node, limit in enumerate(limits)]
    depths = model.tree.node_depths().tolist()
    row_heights = [0.0] * (max(depths) + 1)
    for box, depth in zip(boxes, depths, strict=True):
        row_heights[depth] = max(row_heights[depth], box.height)
    x = _place(model, [box.width for box in boxes])
    half = np.array([box.width for box in boxes]) / 2
    left, right = float((x - half).min()), float((x + half).max())
    legend = _make_legend(model, colours, max(right - left, LEGEND_WIDTH), ruler)
    width = max([right - left, *(sum(entry[2] for entry in row) for row in legend)])
    return _Layout(boxes, x - left, depths, row_heights, legend, right - left, width)


def _make_box(model: Model, node: int, rows_text: str, limit: float, ruler: Ruler) -> _Box:
    def fits(text: str) -> bool:
        return ruler(text, leaf) <= limit

    leaf = model.is_leaf(node)
    rows = int(model.tree.n_node_samples[node])
    details = [rows_text.format(rows, "" if rows == 1 else "s")]
    if leaf:
        predicted = model.predicted(node)
        head = [shorten(one_line(model.class_names[predicted]), fits)]
        share = f"{100 * model.shares(node)[predicted]:.1f}%"
        details.insert(0, share if model.counts_are_rows() else f"{share} of weight")
    else:
        head = _question(model.literal(node), fits)
    widths = [ruler(text, leaf) for text in head] + [DETAIL_SIZE * ruler(text, False) for text in details]
    height = LINE * (len(head) + DETAIL_SIZE * len(details)) + BAR_HEIGHT + 2.3 * PADDING
    return _Box(head, details, max(max(widths) + 2 * PADDING, NARROWEST_BOX), height)


def _question(literal: Literal, fits: Callable[[str], bool]) -> list[str]:
    """Return the literal on one line, or on two where it is too long; a threshold is never shortened."""
    question = one_line(f"{literal.yes}?")
    if fits(question):
        return [question]
    second = one_line(f"{literal.asked}?")
    return [shorten(one_line(literal.name), fits), second if literal.test.kind == AT_MOST else shorten(second, fits)]


def _place(model: Model, widths: Sequence[float]) -> FloatArray:
    """Return the centres of the nodes: parents midway over children, subtrees as close as their boxes allow."""
    offsets = np.zeros(len(widths))  # from the parent
    outlines = [[(-width / 2, width / 2)] for width in widths]  # leftmost and rightmost per depth below
    for node in reversed(model.tree.inner_nodes()):
        left, right = model.children(node)
        pairs = zip(outlines[left], outlines[right], strict=False)
        half = (max(a[1] - b[0] for a, b in pairs) + BOX_GAP) / 2
        offsets[left], offsets[right] = -half, half
        lefts = [(a - half, b - half) for a, b in outlines[left]]
        rights = [(a + half, b + half) for a, b in outlines[right]]
        common = min(len(lefts), len(rights))
        outlines[node] += [(a[0], b[1]) for a, b in zip(lefts, rights, strict=False)]
        outlines[node] += lefts[common:] + rights[common:]
    x = np.zeros(len(widths))
    for node in model.tree.inner_nodes():
        for child in model.children(node):
            x[child] = x[node] + offsets[child]
    return x


def _make_legend(
    model: Model, colours: Sequence[str], width: float, ruler: Ruler
) -> list[list[tuple[str, str, float]]]:
    """Return rows of entries up to `width`; none where all training rows are of one class."""
    if np.count_nonzero(model.tree.value[0]) < 2:
        return []
    named = [(colour, name) for colour, name in zip(colours, model.class_names, strict=True) if colour != OTHERS_COLOUR]
    if len(named) < len(colours):
        named.append((OTHERS_COLOUR, f"{len(colours) - len(named):,} others"))
    rows: list[list[tuple[str, str, float]]] = [[]]
    for colour, name in named:
        text = shorten(one_line(name), lambda text: ruler(text, False) <= LEGEND_TEXT)
        entry = (colour, text, SWATCH + 0.4 + DETAIL_SIZE * ruler(text, False) + 1.2)
        if rows[-1] and sum(other[2] for other in rows[-1]) + entry[2] > width:
            rows.append([])
        rows[-1].append(entry)
    return rows


class _Picture:
    """A layout on Axes; coordinates are em from the lower left corner."""

    def __init__(self, model: Model, layout: _Layout, colours: Sequence[str], ax: Axes, font: float):
        self.model, self.layout, self.colours, self.ax, self.font = model, layout, colours, ax, font
        self.plain_ink: Any = rcParams["text.color"]  # readable on the figure's own background
        width, height = _size(ax)
        # Not data coordinates: the limits of the Axes may be shared with others.
        self.transform = Affine2D().scale(font / width, font / height) + ax.transAxes
        self._arrange(width / font, height / font)

    def _arrange(self, width: float, height: float) -> None:
        """Spread the layout over the available room."""
        layout = self.layout
        # Box widths stay as they are, so the boxes at the sides bound the spread.
        half = np.array([box.width for box in layout.boxes]) / 2
        centred = layout.x - layout.tree_width / 2
        room = (width / 2 - half) / np.maximum(np.abs(centred), 1e-9)
        self.x = width / 2 + centred * max(1.0, min(LARGEST_SPREAD, float(room.min())))
        gaps = max(1, len(layout.row_heights) - 1)
        gap = max(0.0, min(ROW_GAP + (height - layout.height()) / gaps, max(6.0, 0.08 * layout.tree_width)))
        top = height - max(0.0, height - layout.height(gap)) / 2
        tops = top - np.concatenate([[0.0], np.cumsum(np.array(layout.row_heights) + gap)])
        self.row_tops = tops[:-1]
        self.legend_top = float(tops[-1]) + gap - LEGEND_GAP
        self.middle = width / 2

    def draw(self) -> None:
        """Draw the edges first, so that boxes cover their ends."""
        for node in self.model.tree.inner_nodes():
            self._draw_edges(node)
        for node in range(self.model.tree.node_count):
            self._draw_box(node)
        self._draw_legend()

    def _draw_edges(self, node: int) -> None:
        depth = self.layout.depths[node]
        start = self.row_tops[depth] - self.layout.boxes[node].height
        row_end, end = self.row_tops[depth] - self.layout.row_heights[depth], self.row_tops[depth + 1]
        middle = (row_end + end) / 2
        rows = self.model.tree.n_node_samples
        for child, answer, side in zip(self.model.children(node), ("yes", "no"), (-1, 1), strict=True):
            x, to = self.x[node], self.x[child]
            # Down to the end of the row first: a neighbour may be taller.
            points = [(x, start), (x, row_end), (x, middle), (to, middle), (to, end)]
            path = Path(points, [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
            thickness = self.font * (0.08 + WIDEST_EDGE * float(rows[child] / rows[0]))
            self._add(PathPatch(path, fill=False, edgecolor=EDGE_COLOUR, linewidth=thickness, capstyle="butt"))
            beside = to + side * (0.25 + thickness / self.font / 2)
            self._write(answer, beside, end + 0.35, align="left" if side > 0 else "right")

    def _draw_box(self, node: int) -> None:
        box = self.layout.boxes[node]
        left, top = self.x[node] - box.width / 2, self.row_tops[self.layout.depths[node]]
        fill, border = (1.0, 1.0, 1.0), EDGE_COLOUR
        if self.model.is_leaf(node):
            predicted = self.model.predicted(node)
            border = self._colour(node, predicted)
            strength = 0.06 + 0.24 * float(self.model.shares(node)[predicted])
            red, green, blue = (1 - (1 - channel) * strength for channel in to_rgb(border))
            fill = (red, green, blue)
        frame = FancyBboxPatch((left, top - box.height), box.width, box.height, "round,pad=0,rounding_size=0.4")
        frame.set(facecolor=fill, edgecolor=border, linewidth=0.09 * self.font)
        self._add(frame)
        y = top - 0.8 * PADDING
        lines = [(text, 1.0, INK) for text in box.head] + [(text, DETAIL_SIZE, FAINT_INK) for text in box.details]
        for text, size, colour in lines:
            y -= LINE * size
            weight = "bold" if size == 1.0 and self.model.is_leaf(node) else None
            drawn = self._write(text, self.x[node], y + 0.32 * size, size, color=colour, fontweight=weight)
            self._shrink(drawn, box.width - 0.5 * PADDING)
        x, width = left + PADDING, box.width - 2 * PADDING
        for colour, share in self._bar(node).items():
            self._draw_rectangle(x, top - box.height + 0.9 * PADDING, width * share, BAR_HEIGHT, colour)
            x += width * share

    def _bar(self, node: int) -> dict[str, float]:
        """Return the shares of the node's classes by colour, the classes without their own colour at the end."""
        bar: dict[str, float] = {}
        shares = self.model.shares(node).tolist()
        for c in sorted(range(len(shares)), key=lambda c: self._colour(node, c) == OTHERS_COLOUR):
            if shares[c] > 0:
                colour = self._colour(node, c)
                bar[colour] = bar.get(colour, 0.0) + shares[c]
        return bar

    def _colour(self, node: int, c: int) -> str:
        own = self.colours[c] == OTHERS_COLOUR and self.model.is_leaf(node) and c == self.model.predicted(node)
        return OWN_COLOUR if own else self.colours[c]

    def _draw_legend(self) -> None:
        y = self.legend_top
        for row in self.layout.legend:
            y -= LINE
            x = self.middle - sum(width for _, _, width in row) / 2 + 0.6
            for colour, text, width in row:
                self._draw_rectangle(x, y + 0.28, SWATCH, SWATCH, colour)
                self._write(text, x + SWATCH + 0.4, y + 0.32, align="left")
                x += width

    def _draw_rectangle(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        self._add(Rectangle((x, y), width, height, facecolor=colour, edgecolor="none"))

    def _add(self, patch: Any) -> None:
        patch.set_transform(self.transform)
        patch.set_clip_on(False)
        self.ax.add_artist(patch)  # unlike add_patch it leaves the data limits alone

    def _shrink(self, text: Text, width: float) -> None:
        """Make the font smaller where pixels make a text wider than its room."""
        for _ in range(3):
            drawn = self.transform.inverted().transform_bbox(text.get_window_extent()).width
            if drawn <= width:
                return
            text.set_fontsize(float(text.get_fontsize()) * width / drawn)

    def _write(
        self, text: str, x: float, baseline: float, size: float = DETAIL_SIZE, align: Any = "center", **style: Any
    ) -> Text:
        options = {"color": self.plain_ink, "fontsize": self.font * size, **style}
        options |= {"horizontalalignment": align, "verticalalignment": "baseline"}
        # Names are shown as they are, never as formulas.
        return self.ax.text(x, baseline, text, transform=self.transform, parse_math=False, usetex=False, **options)
