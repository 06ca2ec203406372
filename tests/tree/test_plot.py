"""The picture of a tree: what is written in it, where, and that nothing covers anything else."""

import itertools
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import load_iris

from topktree import TopKTreeClassifier
from topktree._data.features import Feature
from topktree._data.table import BOOLEAN, CATEGORY, NUMBER
from topktree._tree.naming import make_model
from topktree._tree.plot import ELLIPSIS, OTHERS_COLOUR, class_colours, plot_tree, shorten
from topktree._tree.tree import TREE_LEAF, TREE_UNDEFINED, Tree, node_impurity

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
colors = pytest.importorskip("matplotlib.colors")
patches = pytest.importorskip("matplotlib.patches")
plt = pytest.importorskip("matplotlib.pyplot")

LONG = "the_average_distance_between_any_two_of_the_points_of_a_row"
ODD_NAMES = ("$a_b$", "<script>x</script>", "C:\\new\\table", "größe, длина, μ", "100%^{2} & #~")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def balanced(depth):
    """A leaf is None, an inner node the pair of what is below it."""
    return (balanced(depth - 1),) * 2 if depth else None


def one_sided(depth, left=False):
    below = None
    for _ in range(depth):
        below = (below, None) if left else (None, below)
    return below


def build(shape, n_classes=2, names=("age", "income", "size"), class_names=None, features=None):
    """A model of the shape; inner nodes test the features in turn, at thresholds of 5 digits."""
    features = features or [Feature(name, NUMBER) for name in names]
    rng = np.random.default_rng(7)
    nodes = []  # left, right, feature, counts

    def visit(shape):
        node = len(nodes)
        nodes.append(None)
        if shape is None:
            nodes[node] = (TREE_LEAF, TREE_LEAF, TREE_UNDEFINED, rng.multinomial(900, rng.dirichlet([0.3] * n_classes)))
        else:
            left, right = visit(shape[0]), visit(shape[1])
            nodes[node] = (left, right, node % len(features), nodes[left][3] + nodes[right][3])
        return node

    visit(shape)
    left, right, feature, counts = (np.array(column) for column in zip(*nodes, strict=True))
    is_category = np.array([f >= 0 and features[f].kind == CATEGORY for f in feature])
    is_boolean = np.array([f >= 0 and features[f].kind == BOOLEAN for f in feature])
    threshold = np.where(is_boolean, 0.0, np.round(rng.normal(0, 100, len(nodes)), 3))
    threshold = np.where(is_category | (feature < 0), TREE_UNDEFINED, threshold)
    value = counts.astype(float)
    tree = Tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        category=np.where(is_category, 0, TREE_UNDEFINED),
        category_set=np.zeros((len(nodes), 0), dtype=bool),
        missing_go_to_left=np.zeros(len(nodes), dtype=bool),
        unseen_go_to_left=np.zeros(len(nodes), dtype=bool),
        value=value,
        impurity=node_impurity(value, "gini"),
        n_node_samples=counts.sum(axis=1),
        weighted_n_node_samples=value.sum(axis=1),
    )
    return make_model(tree, features, np.arange(n_classes), class_names=class_names)


@dataclass
class Drawn:
    """Where things are, in pixels: (x0, y0, x1, y1)."""

    room: tuple
    boxes: list  # in the order of the nodes
    texts: list  # pairs of text and where it is

    def said(self, node):
        """The texts in a box from top to bottom."""
        found = [(-where[1], text) for text, where in self.texts if is_centre_in(where, self.boxes[node])]
        return [text for _, text in sorted(found)]


def drawn(ax):
    """What is to be seen once the figure is laid out."""
    figure = ax.figure.figure
    if figure.get_layout_engine() is not None:
        figure.get_layout_engine().execute(figure)
    boxes = [patch for patch in ax.patches if isinstance(patch, patches.FancyBboxPatch)]
    return Drawn(where(ax), [where(box) for box in boxes], [(text.get_text(), where(text)) for text in ax.texts])


def where(artist):
    return artist.get_window_extent().extents.tolist()


def overlap(a, b, slack=0.0):
    """Whether two extents share more than `slack` pixels both ways."""
    return min(a[2], b[2]) - max(a[0], b[0]) > slack and min(a[3], b[3]) - max(a[1], b[1]) > slack


def inside(a, b, slack=1.0):
    return a[0] >= b[0] - slack and a[2] <= b[2] + slack and a[1] >= b[1] - slack and a[3] <= b[3] + slack


def is_centre_in(a, b):
    return b[0] <= (a[0] + a[2]) / 2 <= b[2] and b[1] <= (a[1] + a[3]) / 2 <= b[3]


def assert_nothing_overlaps(picture):
    assert not any(overlap(a, b) for a, b in itertools.combinations(picture.boxes, 2))
    assert all(inside(box, picture.room) for box in picture.boxes)
    outside = []
    for _, extent in picture.texts:
        assert inside(extent, picture.room)
        around = [box for box in picture.boxes if is_centre_in(extent, box)]
        if around:
            assert inside(extent, around[0])
        else:
            outside.append(extent)
            assert not any(overlap(extent, box, slack=1.0) for box in picture.boxes)
    assert not any(overlap(a, b, slack=1.0) for a, b in itertools.combinations(outside, 2))


def assert_says_all(picture, model):
    """Every box says what its node is; names are short enough not to be shortened."""
    assert len(picture.boxes) == model.tree.node_count
    for node in range(model.tree.node_count):
        *said, rows = picture.said(node)
        count = model.tree.n_node_samples[node]
        assert rows in (f"{count:,} rows", f"n={count:,}")
        if model.is_leaf(node):
            name = model.class_names[model.predicted(node)]
            assert said == [name, f"{100 * model.shares(node).max():.1f}%"]
        else:
            assert " ".join(said) == f"{model.literal(node).yes}?"


MODELS = {
    "leaf": lambda: build(None, 3),
    "stump": lambda: build(balanced(1)),
    "depth 3": lambda: build(balanced(3), 3),
    "32 leaves": lambda: build(balanced(5)),
    "26 classes": lambda: build(balanced(5), 26, class_names=[chr(65 + c) for c in range(26)]),
    "to the right": lambda: build(one_sided(6)),
    "to the left": lambda: build(one_sided(6, left=True), 5),
    "both ends": lambda: build(((one_sided(3, left=True), None), (None, (balanced(2), None))), 9),
}
AXES = {
    "new": lambda: None,
    "small": lambda: plt.subplots(figsize=(4, 3))[1],
    "wide": lambda: plt.subplots(figsize=(14, 3))[1],
    "high": lambda: plt.subplots(figsize=(4, 10), layout="constrained")[1],
}


@pytest.mark.parametrize(
    ("model", "ax"),
    [*itertools.product(MODELS, ("new", "small")), *itertools.product(("leaf", "both ends"), ("wide", "high"))],
)
def test_all_is_said_and_nothing_overlaps(model, ax):
    model = MODELS[model]()
    picture = drawn(plot_tree(model, AXES[ax]()))
    assert_nothing_overlaps(picture)
    assert_says_all(picture, model)


@pytest.mark.parametrize("ax", ["new", "small"])
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_long_names_are_shortened(depth, ax):
    names = [LONG, LONG[::-1]]
    model = build(balanced(depth), names=names, class_names=[f"{LONG} {c}" for c in "ab"])
    picture = drawn(plot_tree(model, AXES[ax]()))
    assert_nothing_overlaps(picture)
    for node in range(model.tree.node_count):
        said = picture.said(node)
        full = model.class_names[model.predicted(node)] if model.is_leaf(node) else model.literal(node).name
        head, tail = said[0].split(ELLIPSIS)
        assert head
        assert full.startswith(head)
        assert full.endswith(tail)
        if not model.is_leaf(node):
            assert said[1] == f"{model.literal(node).asked}?"


def test_odd_names_are_drawn_verbatim():
    model = build(balanced(3), len(ODD_NAMES), names=ODD_NAMES, class_names=ODD_NAMES)
    with matplotlib.rc_context({"text.usetex": True}):
        ax = plot_tree(model)
        picture = drawn(ax)
    assert_nothing_overlaps(picture)
    assert_says_all(picture, model)
    assert not any(text.get_parse_math() or text.get_usetex() for text in ax.texts)
    assert set(ODD_NAMES) <= {text for text, _ in picture.texts}  # the legend


def test_line_breaks_and_empty_names():
    model = build(balanced(1), names=["a\nb"], class_names=["", "x\ty"])
    picture = drawn(plot_tree(model))
    assert picture.said(0)[0].startswith("a\\nb <= ")
    assert "x\\ty" in {text for text, _ in picture.texts}


@pytest.mark.parametrize(
    ("feature", "literal"),
    [
        (Feature("age", NUMBER), None),
        (Feature("colour", CATEGORY, ("red", "green")), "colour = red?"),
        (Feature("smoker", BOOLEAN), "smoker = False?"),
    ],
)
def test_answers_stand_over_the_child_they_lead_to(feature, literal):
    model = build(balanced(1), features=[feature])
    picture = drawn(plot_tree(model))
    if literal:
        assert picture.said(0)[0] == literal
    at = dict(picture.texts)
    for box, answer in zip(picture.boxes[1:], ("yes", "no"), strict=True):
        assert box[0] <= at[answer][0]
        assert at[answer][2] <= box[2]
        assert box[3] <= at[answer][1]


@pytest.mark.parametrize("n_classes", [1, 2, 10, 26])
def test_bars_show_the_shares(n_classes):
    model = build(balanced(2), n_classes)
    ax = plot_tree(model)
    colours = class_colours(model)
    for node, box in enumerate(drawn(ax).boxes):
        bars = [p for p in ax.patches if isinstance(p, patches.Rectangle) and inside(where(p), box)]
        total = sum(bar.get_width() for bar in bars)
        by_colour = {colors.to_hex(bar.get_facecolor()): bar.get_width() / total for bar in bars}
        assert len(by_colour) == len(bars)
        shares = model.shares(node)
        for c in np.flatnonzero(shares):
            if colours[c] != OTHERS_COLOUR:
                assert by_colour[colours[c]] == pytest.approx(shares[c])


def test_colours_of_few_classes_differ_and_of_many_the_most_predicted_have_one():
    assert len(set(class_colours(build(balanced(3), 10)))) == 10
    model = build(balanced(5), 26)
    colours = class_colours(model)
    named = [c for c in range(26) if colours[c] != OTHERS_COLOUR]
    assert len(named) == len({colours[c] for c in named}) == 9
    right = np.zeros(26)
    for node in filter(model.is_leaf, range(model.tree.node_count)):
        right[model.predicted(node)] += model.tree.value[node].max()
    assert right[named].min() >= np.delete(right, named).max()


def legend_texts(ax):
    picture = drawn(ax)
    lowest = min(box[1] for box in picture.boxes)
    return [text for text, extent in picture.texts if extent[3] < lowest]


def test_legend():
    assert legend_texts(plot_tree(build(balanced(2), 3, class_names=["a", "_b", "c"]))) == ["a", "_b", "c"]
    assert legend_texts(plot_tree(build(None, 1))) == []
    many = legend_texts(plot_tree(build(balanced(2), 26)))
    assert len(many) == 10
    assert many[-1] == "17 others"


def test_without_axes_a_figure_is_made_that_fits():
    before = plt.get_fignums()
    sizes = [plot_tree(build(balanced(depth))).figure.get_size_inches() for depth in (0, 1, 3, 5)]
    assert len(plt.get_fignums()) == len(before) + 4
    assert (np.diff(sizes, axis=0) > 0).all()
    assert sizes[-1][0] < 20


def test_given_axes_are_drawn_into_and_returned():
    figure, (first, second) = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(12, 5))
    second.plot([10, 20], [3, 4])
    limits = second.get_xlim()
    before = plt.get_fignums()
    assert plot_tree(build(balanced(3)), first) is first
    assert plt.get_fignums() == before
    assert not first.axison
    assert second.axison
    assert second.get_xlim() == limits
    assert_nothing_overlaps(drawn(first))
    assert figure.axes == [first, second]


def test_axes_of_a_subfigure():
    left, _ = plt.figure(figsize=(10, 4), layout="constrained").subfigures(1, 2)
    ax = left.subplots()
    assert plot_tree(build(balanced(3)), ax) is ax
    assert_nothing_overlaps(drawn(ax))


def test_a_title_makes_its_own_room():
    ax = plot_tree(build(balanced(3)))
    title = ax.set_title("Title")
    picture = drawn(ax)
    assert inside(where(title), ax.figure.bbox.extents)
    assert not any(overlap(where(title), box) for box in picture.boxes)
    assert_nothing_overlaps(picture)


def test_font_follows_the_setting_and_the_room():
    def font(ax=None):
        return max(text.get_fontsize() for text in plot_tree(build(balanced(1)), ax).texts)

    assert font() == pytest.approx(matplotlib.rcParams["font.size"])
    with matplotlib.rc_context({"font.size": 14}):
        assert font() == pytest.approx(14)
    assert font(plt.figure().add_axes((0, 0, 0.2, 0.2))) < 8


def test_drawn_twice_it_is_the_same():
    def pixels():
        figure = plot_tree(build(balanced(3), 3)).figure
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba())

    np.testing.assert_array_equal(pixels(), pixels())


def test_fitted_tree():
    iris = load_iris()
    classifier = TopKTreeClassifier(k=3, max_depth=2).fit(iris.data, iris.target_names[iris.target])
    model = make_model(classifier.tree_, classifier.features_, classifier.classes_, iris.feature_names)
    picture = drawn(plot_tree(model))
    assert_nothing_overlaps(picture)
    assert_says_all(picture, model)


def test_shorten():
    def at_most(n):
        return lambda text: len(text) <= n

    assert shorten("abcdef", at_most(6)) == "abcdef"
    assert shorten("abcdef", at_most(5)) == f"ab{ELLIPSIS}ef"
    assert shorten("abcdef", at_most(4)) == f"ab{ELLIPSIS}f"
    assert shorten("abcdef", at_most(0)) == ELLIPSIS


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    clf = TopKTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in ("plot", "charts"):  # as if nothing had been drawn before
        monkeypatch.delitem(sys.modules, f"topktree._tree.{module}", raising=False)
    for draw in (clf.plot, clf.plot_search):
        with pytest.raises(ImportError, match=r"pip install topktree\[plot\]"):
            draw()
