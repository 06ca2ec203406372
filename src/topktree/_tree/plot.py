"""A fitted tree as a picture, drawn with matplotlib.

In: a `Model` and, if the user has one, the Axes to draw into. Out: the Axes. The one idea: everything is measured and
placed in units of the font size ("em"), so one layout fits any Axes by the choice of its font size, and boxes that are
apart in one size are so in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._data.arrays import FloatArray
from .export import AT_MOST, COLOURS, Model, Test, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Transform

# Width of a text in em, bold if so said.
Ruler = Callable[[str, bool], float]

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

# Points. The largest font is matplotlib's own setting; a new figure stays within LARGEST_FIGURE while its font is at
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
LEGEND_WIDTH = 26.0  # a narrower tree has a legend of up to this width
SWATCH = 0.8

LARGEST_SPREAD = 1.5  # of the boxes, where the Axes are wider than the layout
WIDEST_EDGE = 0.5  # em, of an edge that all rows pass
# Letters on a grid of pixels are wider than their outlines: some 5% at usual sizes, seldom 15%.
HINTING = 1.05

# Each class has its colour if there are enough, else only those that leaves predict most.
FEW_COLOURS = (*COLOURS, "#7b4a1e", "#333333")
MANY_COLOURS = tuple(colour for colour in FEW_COLOURS if colour != "#999999")  # too like the next
OTHERS_COLOUR = "#d4d4d4"
OWN_COLOUR = "#8c8c8c"  # at a leaf, of the class that it predicts if that is one of the others
INK = "#222222"
FAINT_INK = "#555555"
EDGE_COLOUR = "#a8a8a8"
INNER_FILL = "#ffffff"


@dataclass(frozen=True)
class _Style:
    """How much a box may say."""

    text_width: float  # em, for a leaf and a node with little below
    rows: str  # wording of the number of rows


# From the one that says most to the one that needs least room.
STYLES = (
    _Style(18.0, "{} row{}"),
    _Style(12.0, "{} row{}"),
    _Style(12.0, "n={}"),
    _Style(9.0, "n={}"),
    _Style(6.0, "n={}"),
)


@dataclass(frozen=True)
class _Line:
    """One line of text."""

    text: str
    size: float  # em
    bold: bool = False
    colour: str = INK


@dataclass(frozen=True)
class _Box:
    """What a node shows, in em."""

    lines: tuple[_Line, ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Layout:
    """Boxes and where they stand, in em, with gaps as small as can be."""

    boxes: tuple[_Box, ...]  # per node
    x: FloatArray  # per node: centre, from the left end of the tree
    depths: tuple[int, ...]  # per node
    row_heights: tuple[float, ...]  # per depth
    legend: tuple[tuple[tuple[str, _Line, float], ...], ...]  # rows of colour, text and width
    tree_width: float
    width: float

    @property
    def height(self) -> float:
        """With the smallest gaps."""
        return self.height_with(ROW_GAP)

    def height_with(self, gap: float) -> float:
        """If rows of boxes are `gap` apart."""
        return sum(self.row_heights) + gap * (len(self.row_heights) - 1) + self.legend_height

    @property
    def legend_height(self) -> float:
        """With the gap above it."""
        return LEGEND_GAP + LINE * len(self.legend) if self.legend else 0.0


def plot_tree(model: Model, ax: Axes | None = None) -> Axes:
    """Draw the tree into `ax`, or into a new figure that fits it."""
    require_matplotlib()
    ruler = _make_ruler()
    colours = class_colours(model)
    layouts = [_lay_out(model, style, colours, ruler) for style in STYLES]
    if ax is None:
        layout, font = _choose(layouts, *LARGEST_FIGURE)
        font = max(font, min(SMALLEST_FONT, _largest_font()))
        ax = _new_axes(layout, font)
    else:
        ax.set_axis_off()
        layout, font = _choose(layouts, *_size(ax))
    _Picture(model, layout, colours, ax, font).draw()
    return ax


def class_colours(model: Model) -> list[str]:
    """The colour of each class; of many classes those that leaves predict most have one of their own."""
    n_classes = len(model.class_names)
    if n_classes <= len(FEW_COLOURS):
        return list(FEW_COLOURS[:n_classes])
    predicted = np.zeros(n_classes)
    for node in range(model.tree.node_count):
        if model.is_leaf(node):
            predicted[model.predicted(node)] += model.tree.value[node].max()
    most = np.sort(np.argsort(-predicted, kind="stable")[: len(MANY_COLOURS)])
    colours = [OTHERS_COLOUR] * n_classes
    for colour, c in zip(MANY_COLOURS, most, strict=True):
        colours[c] = colour
    return colours


def shorten(text: str, fits: Callable[[str], bool]) -> str:
    """The text, or as much of its two ends as fits around an ellipsis."""
    if fits(text):
        return text
    low, high = 0, len(text)  # characters to keep: `low` fit, `high` do not
    while high - low > 1:
        kept = (low + high) // 2
        low, high = (kept, high) if fits(_ends(text, kept)) else (low, kept)
    return _ends(text, low)


def _ends(text: str, kept: int) -> str:
    tail = kept // 2
    return text[: kept - tail] + ELLIPSIS + text[len(text) - tail :]


def require_matplotlib() -> None:
    """Say how to get it, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install topktree[plot]") from error


def _make_ruler() -> Ruler:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    fonts = {bold: FontProperties(size=100, weight="bold" if bold else None) for bold in (False, True)}

    @cache
    def measure(text: str, bold: bool) -> float:
        width: float = text_to_path.get_text_width_height_descent(text, fonts[bold], False)[0]
        return HINTING * width / 100

    return measure


def _new_axes(layout: _Layout, font: float) -> Axes:
    """Axes that fill a new figure; a title that is set later makes its room."""
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    gap = min(max(ROW_GAP, 0.05 * layout.tree_width), 6.0)  # wide trees look better with steeper edges
    width, height = layout.width * font + 2 * FIGURE_PAD, layout.height_with(gap) * font + 2 * FIGURE_PAD
    engine = ConstrainedLayoutEngine(w_pad=FIGURE_PAD / 72, h_pad=FIGURE_PAD / 72)
    figure = plt.figure(figsize=(width / 72, height / 72), layout=engine)
    ax = figure.add_subplot()
    ax.set_axis_off()
    return ax


def _size(ax: Axes) -> tuple[float, float]:
    """Width and height in points, once the figure has laid out its Axes."""
    figure = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    extent = ax.get_window_extent()
    return extent.width * 72 / figure.dpi, extent.height * 72 / figure.dpi


def _largest_font() -> float:
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def _choose(layouts: Sequence[_Layout], width: float, height: float) -> tuple[_Layout, float]:
    """The first layout that is about as readable in so many points as any; its font size."""
    fonts = [min(_largest_font(), width / layout.width, height / layout.height) for layout in layouts]
    wanted = 0.93 * min(READABLE_FONT, max(fonts))
    return next((layout, font) for layout, font in zip(layouts, fonts, strict=True) if font >= wanted)


def _lay_out(model: Model, style: _Style, colours: Sequence[str], ruler: Ruler) -> _Layout:
    # A box no wider than the leaves below it does not make the tree wider.
    limits = np.clip(NARROWEST_BOX * _leaves_below(model), style.text_width, max(LONGEST_TEXT, style.text_width))
    boxes = tuple(_make_box(model, node, style.rows, limit, ruler) for node, limit in enumerate(limits.tolist()))
    depths = tuple(int(depth) for depth in model.tree.node_depths())
    rows = [
        [box.height for box, d in zip(boxes, depths, strict=True) if d == depth] for depth in range(max(depths) + 1)
    ]
    x = _place(model, [box.width for box in boxes])
    half = np.array([box.width for box in boxes]) / 2
    left, right = float((x - half).min()), float((x + half).max())
    legend = _make_legend(model, colours, max(right - left, LEGEND_WIDTH), ruler)
    width = max([right - left, *(sum(entry[2] for entry in row) for row in legend)])
    return _Layout(boxes, x - left, depths, tuple(max(row) for row in rows), legend, right - left, width)


def _leaves_below(model: Model) -> FloatArray:
    """Per node; a leaf counts itself."""
    leaves = np.ones(model.tree.node_count)
    for node in reversed(range(model.tree.node_count)):  # preorder: children come later
        if not model.is_leaf(node):
            leaves[node] = sum(leaves[child] for child in model.children(node))
    return leaves


def _make_box(model: Model, node: int, wording: str, limit: float, ruler: Ruler) -> _Box:
    def fits(text: str) -> bool:
        return ruler(text, leaf) <= limit

    leaf = model.is_leaf(node)
    rows = int(model.tree.n_node_samples[node])
    details = [wording.format(rows, "" if rows == 1 else "s")]
    if leaf:
        predicted = model.predicted(node)
        heads = [shorten(one_line(model.class_names[predicted]), fits)]
        share = f"{100 * model.shares(node)[predicted]:.1f}%"
        details.insert(0, share if model.counts_are_rows() else f"{share} of weight")
    else:
        heads = _question(model.test(node), fits)
    lines = (
        *(_Line(text, 1.0, bold=leaf) for text in heads),
        *(_Line(text, DETAIL_SIZE, colour=FAINT_INK) for text in details),
    )
    width = max(line.size * ruler(line.text, line.bold) for line in lines) + 2 * PADDING
    height = sum(LINE * line.size for line in lines) + BAR_HEIGHT + 2.3 * PADDING
    return _Box(lines, max(width, NARROWEST_BOX), height)


def _question(test: Test, fits: Callable[[str], bool]) -> list[str]:
    """The literal on one line, or on two where that is too long; a threshold is never shortened."""
    question = one_line(f"{test.literal}?")
    if fits(question):
        return [question]
    second = one_line(f"{test.kind} {test.text}".strip() + "?")
    return [shorten(one_line(test.name), fits), second if test.kind == AT_MOST else shorten(second, fits)]


def _place(model: Model, widths: Sequence[float]) -> FloatArray:
    """Centres of the nodes: subtrees as close as their boxes allow at every depth, parents midway over children."""
    count = model.tree.node_count
    offsets = np.zeros(count)  # from the parent
    outlines: list[list[tuple[float, float]]] = [[] for _ in range(count)]  # leftmost and rightmost per depth below
    for node in reversed(range(count)):  # preorder: children come later
        below: list[tuple[float, float]] = []
        if not model.is_leaf(node):
            left, right = model.children(node)
            pairs = zip(outlines[left], outlines[right], strict=False)
            distance = max(a[1] - b[0] for a, b in pairs) + BOX_GAP
            offsets[left], offsets[right] = -distance / 2, distance / 2
            below = _merge(outlines[left], outlines[right], distance / 2)
        outlines[node] = [(-widths[node] / 2, widths[node] / 2), *below]
    x = np.zeros(count)
    for node in range(count):
        if not model.is_leaf(node):
            for child in model.children(node):
                x[child] = x[node] + offsets[child]
    return x


def _merge(
    left: list[tuple[float, float]], right: list[tuple[float, float]], shift: float
) -> list[tuple[float, float]]:
    """The outline of two subtrees, the one moved left and the other right by `shift`."""
    lefts = [(a - shift, b - shift) for a, b in left]
    rights = [(a + shift, b + shift) for a, b in right]
    common = min(len(left), len(right))
    both = [(a[0], b[1]) for a, b in zip(lefts, rights, strict=False)]
    return both + lefts[common:] + rights[common:]


def _make_legend(
    model: Model, colours: Sequence[str], width: float, ruler: Ruler
) -> tuple[tuple[tuple[str, _Line, float], ...], ...]:
    """Rows of entries up to `width`; none where all training rows are of one class."""
    if np.count_nonzero(model.tree.value[0]) < 2:
        return ()
    named = [(colour, name) for colour, name in zip(colours, model.class_names, strict=True) if colour != OTHERS_COLOUR]
    others = len(colours) - len(named)
    if others:
        named.append((OTHERS_COLOUR, f"{others} others"))
    rows: list[list[tuple[str, _Line, float]]] = [[]]
    for colour, name in named:
        text = shorten(one_line(name), lambda text: ruler(text, False) <= LEGEND_TEXT)
        entry = (colour, _Line(text, DETAIL_SIZE), SWATCH + 0.4 + DETAIL_SIZE * ruler(text, False) + 1.2)
        if rows[-1] and sum(other[2] for other in rows[-1]) + entry[2] > width:
            rows.append([])
        rows[-1].append(entry)
    return tuple(tuple(row) for row in rows)


def _pale(colour: str, strength: float) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(1 - (1 - channel) * strength for channel in to_rgb(colour))


class _Picture:
    """Puts a layout on Axes; coordinates are em from the lower left corner."""

    def __init__(self, model: Model, layout: _Layout, colours: Sequence[str], ax: Axes, font: float):
        from matplotlib import rcParams
        from matplotlib.transforms import Affine2D

        self.model = model
        self.layout = layout
        self.colours = colours
        self.ax = ax
        self.font = font
        self.plain_ink: Any = rcParams["text.color"]  # what can be read on the figure's own background
        width, height = _size(ax)
        # Not data coordinates: the limits of the Axes may be shared with others.
        self.transform: Transform = Affine2D().scale(font / width, font / height) + ax.transAxes
        self._arrange(width / font, height / font)

    def _arrange(self, width: float, height: float) -> None:
        """Spread the layout over so much room."""
        layout = self.layout
        # Box widths stay as they are, so the boxes at the sides bound the spread.
        half = np.array([box.width for box in layout.boxes]) / 2
        centred = layout.x - layout.tree_width / 2
        room = (width / 2 - half) / np.maximum(np.abs(centred), 1e-9)
        self.x = width / 2 + centred * max(1.0, min(LARGEST_SPREAD, float(room.min())))
        gaps = max(1, len(layout.row_heights) - 1)
        gap = max(0.0, min(ROW_GAP + (height - layout.height) / gaps, max(6.0, 0.08 * layout.tree_width)))
        top = height - max(0.0, height - layout.height_with(gap)) / 2
        tops = top - np.concatenate([[0.0], np.cumsum(np.array(layout.row_heights) + gap)])
        self.row_tops = tops[:-1]
        self.legend_top = float(tops[-1]) + gap - LEGEND_GAP
        self.middle = width / 2

    def draw(self) -> None:
        """Edges first, for boxes to cover their ends."""
        for node in range(self.model.tree.node_count):
            if not self.model.is_leaf(node):
                self._draw_edges(node)
        for node in range(self.model.tree.node_count):
            self._draw_box(node)
        self._draw_legend()

    def _draw_edges(self, node: int) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        depth = self.layout.depths[node]
        start = self.row_tops[depth] - self.layout.boxes[node].height
        row_end, end = self.row_tops[depth] - self.layout.row_heights[depth], self.row_tops[depth + 1]
        middle = (row_end + end) / 2
        yes_goes_left = self.model.test(node).yes_goes_left
        rows = self.model.tree.n_node_samples
        for child, side, answer in zip(
            self.model.children(node), (-1, 1), ("yes", "no") if yes_goes_left else ("no", "yes"), strict=True
        ):
            x, to = self.x[node], self.x[child]
            # Down to the end of the row first: a neighbour may be taller.
            points = [(x, start), (x, row_end), (x, middle), (to, middle), (to, end)]
            path = Path(points, [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
            thickness = self.font * (0.08 + WIDEST_EDGE * float(rows[child] / rows[0]))
            self._add(PathPatch(path, fill=False, edgecolor=EDGE_COLOUR, linewidth=thickness, capstyle="butt"))
            beside = to + side * (0.25 + thickness / self.font / 2)
            line = _Line(answer, DETAIL_SIZE, colour=self.plain_ink)
            self._write(line, beside, end + 0.35, "left" if side > 0 else "right")

    def _draw_box(self, node: int) -> None:
        from matplotlib.patches import FancyBboxPatch

        box = self.layout.boxes[node]
        left, top = self.x[node] - box.width / 2, self.row_tops[self.layout.depths[node]]
        fill: Any = INNER_FILL
        border: Any = EDGE_COLOUR
        if self.model.is_leaf(node):
            predicted = self.model.predicted(node)
            border = self._colour(node, predicted)
            fill = _pale(border, 0.06 + 0.24 * float(self.model.shares(node)[predicted]))
        style = "round,pad=0,rounding_size=0.4"
        corner = (left, top - box.height)
        self._add(
            FancyBboxPatch(
                corner, box.width, box.height, style, facecolor=fill, edgecolor=border, linewidth=0.09 * self.font
            )
        )
        y = top - 0.8 * PADDING
        for line in box.lines:
            y -= LINE * line.size
            text = self._write(line, self.x[node], y + 0.32 * line.size, "center")
            self._shrink(text, box.width - 0.5 * PADDING)
        self._draw_bar(node, left + PADDING, top - box.height + 0.9 * PADDING, box.width - 2 * PADDING)

    def _draw_bar(self, node: int, x: float, y: float, width: float) -> None:
        """Classes from left to right, those without a colour of their own as one at the end."""
        shares = self.model.shares(node)
        pieces = [(self._colour(node, c), float(shares[c])) for c in np.flatnonzero(shares).tolist()]
        for colour, share in _runs(sorted(pieces, key=lambda piece: piece[0] == OTHERS_COLOUR)):
            self._draw_rectangle(x, y, width * share, BAR_HEIGHT, colour)
            x += width * share

    def _colour(self, node: int, c: int) -> str:
        own = self.colours[c] == OTHERS_COLOUR and self.model.is_leaf(node) and c == self.model.predicted(node)
        return OWN_COLOUR if own else self.colours[c]

    def _draw_legend(self) -> None:
        y = self.legend_top
        for row in self.layout.legend:
            y -= LINE
            x = self.middle - sum(width for _, _, width in row) / 2 + 0.6
            for colour, line, width in row:
                self._draw_rectangle(x, y + 0.28, SWATCH, SWATCH, colour)
                self._write(_Line(line.text, line.size, colour=self.plain_ink), x + SWATCH + 0.4, y + 0.32, "left")
                x += width

    def _draw_rectangle(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        from matplotlib.patches import Rectangle

        self._add(Rectangle((x, y), width, height, facecolor=colour, edgecolor="none"))

    def _add(self, patch: Any) -> None:
        patch.set_transform(self.transform)
        patch.set_clip_on(False)
        self.ax.add_artist(patch)  # unlike add_patch it leaves the data limits alone

    def _shrink(self, text: Text, width: float) -> None:
        """Where pixels make a text wider than its room."""
        for _ in range(3):
            drawn = self.transform.inverted().transform_bbox(text.get_window_extent()).width
            if drawn <= width:
                return
            text.set_fontsize(float(text.get_fontsize()) * width / drawn)

    def _write(self, line: _Line, x: float, baseline: float, align: Any) -> Text:
        return self.ax.text(
            x,
            baseline,
            line.text,
            transform=self.transform,
            fontsize=self.font * line.size,
            fontweight="bold" if line.bold else None,
            color=line.colour,
            horizontalalignment=align,
            verticalalignment="baseline",
            parse_math=False,
            usetex=False,
        )


def _runs(pieces: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Neighbours of one colour made one."""
    runs: list[tuple[str, float]] = []
    for colour, share in pieces:
        if runs and runs[-1][0] == colour:
            runs[-1] = (colour, runs[-1][1] + share)
        else:
            runs.append((colour, share))
    return runs
