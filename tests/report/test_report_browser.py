"""The report in a real browser: Chromium, headless. Skipped where there is none, unless TOPKTREE_BROWSER=required."""

import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from topktree import TopKTreeClassifier, TopKTreeClassifierCV

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
FLAGS += ["--disable-quic", "--disable-component-update"]

if os.environ.get("TOPKTREE_BROWSER") != "required":
    pytest.importorskip("playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine", allow_module_level=True)

WIDTHS = {"phone": 360, "tablet": 820, "desktop": 1440}


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """Opens a file; whatever the page says to the console, or tries to load, fails the test at its end."""
    contexts, trouble = [], []

    def watch(page):
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else trouble.append(request.url),
        )

    def start(path, width=WIDTHS["desktop"], **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        watch(page)
        page.goto(path.as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert trouble == []


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    y = np.where(y == 0, "malignant", "benign")
    clf = TopKTreeClassifier(k=8, max_depth=3).fit(X[:400], y[:400], exact_root=True)
    return clf, X[400:], y[400:]


@pytest.fixture(scope="module")
def cancer_file(cancer, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "cancer.html"
    clf, X, y = cancer
    clf.report(path, X, y, title="Breast cancer", max_rows=100)
    return path


def leaf_of(page):
    """The node that is selected in the tree."""
    return int(page.locator("[role=treeitem][aria-selected=true]").get_attribute("id").removeprefix("node-"))


def marked(page):
    return {
        int(i.removeprefix("node-")) for i in page.locator(".node.on").evaluate_all("nodes => nodes.map(n => n.id)")
    }


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_loads_and_fits_the_width(open_page, cancer_file, width):
    page = open_page(cancer_file, width)
    assert page.title() == "Breast cancer"
    assert page.locator("h2").all_inner_texts() == [
        "The tree",
        "Follow a row",
        "The rules",
        "Accuracy",
        "The search",
        "Other tree sizes",
        "The model",
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_clicking_a_node_tells_who_gets_there(open_page, cancer, cancer_file):
    clf, X, _ = cancer
    page = open_page(cancer_file)
    leaf = int(clf.apply(X)[0])
    page.locator(f"#node-{leaf}").click()
    assert leaf_of(page) == leaf
    assert marked(page) == set(np.flatnonzero(clf.decision_path(X).toarray()[0]).tolist())
    details = page.locator("#details").inner_text()
    assert clf.predict(X)[0] in details
    assert f"{clf.tree_.n_node_samples[leaf]} rows" in details
    assert "Path to this node" in details


def test_folding_hides_what_is_below_and_selecting_unfolds(open_page, cancer, cancer_file):
    clf, _, _ = cancer
    page = open_page(cancer_file)
    left = int(clf.tree_.children_left[0])
    page.locator(f"#node-{left} .fold").click()
    assert page.locator(f"#node-{left}").get_attribute("aria-expanded") == "false"
    assert page.locator(f"#node-{left + 1}").count() == 0
    rule = next(line for line in clf.export_rules().splitlines()).split(" -> ")[0]  # the leftmost leaf
    page.get_by_role("button", name=f"Show this leaf in the tree: {rule}", exact=True).click()
    assert left < leaf_of(page) < clf.tree_.children_right[0]
    assert page.locator(f"#node-{leaf_of(page)}").is_visible()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("[role=treeitem]").count() == clf.tree_.node_count


def test_the_keyboard_alone(open_page, cancer, cancer_file):
    clf, _, _ = cancer
    page = open_page(cancer_file)
    page.locator("#node-0").focus()
    page.keyboard.press("ArrowRight")
    assert leaf_of(page) == clf.tree_.children_left[0]
    assert page.evaluate("document.activeElement.id") == f"node-{leaf_of(page)}"
    page.keyboard.press("ArrowLeft")
    assert leaf_of(page) == 0
    page.keyboard.press("Enter")
    assert page.locator("[role=treeitem]").count() == 1
    page.keyboard.press("Enter")
    assert page.locator("[role=treeitem]").count() == clf.tree_.node_count
    page.keyboard.press("End")
    assert leaf_of(page) == clf.tree_.node_count - 1
    # Every control of the page can be reached by the Tab key, and says what it is.
    names = page.locator("button, input, select").evaluate_all(
        """controls => controls.filter(control => control.tabIndex >= 0).map(control => control.ariaLabel
            || control.labels?.[0]?.textContent || (control.tagName === "BUTTON" && control.textContent.trim()))"""
    )
    assert len(names) > 20
    assert all(names)


def test_zooming_and_dragging(open_page, cancer_file):
    page = open_page(cancer_file, WIDTHS["phone"])
    card = page.locator("#node-0")
    before = card.bounding_box()["width"]
    page.get_by_role("button", name="Zoom in").click()
    assert card.bounding_box()["width"] == pytest.approx(1.25 * before, rel=0.02)
    page.get_by_role("button", name="Whole tree").click()
    canvas = page.locator(".canvas").bounding_box()
    for box in (card.bounding_box() for card in page.locator(".node").all()):
        assert box["x"] + box["width"] <= canvas["x"] + canvas["width"] + 1
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    scrolled = page.evaluate("document.querySelector('.canvas').scrollLeft")
    x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + 20
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=4)
    page.mouse.up()
    assert page.evaluate("document.querySelector('.canvas').scrollLeft") == pytest.approx(scrolled + 60, abs=2)


def test_typing_a_row_leads_to_its_leaf(open_page, cancer, cancer_file):
    clf, X, _ = cancer
    page = open_page(cancer_file)
    for row in (0, 5, 11):
        for name in {clf.feature_names_in_[f] for f in clf.tree_.feature if f >= 0}:
            field(page, name).fill(repr(float(X[name].iloc[row])))
        page.get_by_role("button", name="Follow this row").click()
        assert leaf_of(page) == clf.apply(X)[row]
        answer = page.locator("#answer").inner_text()
        assert answer.startswith(clf.predict(X)[row])
        rule = clf.export_rules().splitlines()[sorted(set(leaves(clf))).index(clf.apply(X)[row])].split(" -> ")[0]
        assert f"If {rule}, then {clf.predict(X)[row]}." in answer


def field(page, name):
    label = page.locator("#follow .fields label").filter(has=page.get_by_text(name, exact=True))
    return label.locator("input, select")


def leaves(clf):
    return np.flatnonzero(clf.tree_.children_left < 0).tolist()


def test_what_is_no_number_is_said(open_page, cancer_file):
    page = open_page(cancer_file)
    first = page.locator("#follow .fields input").first
    first.fill("twelve")
    page.get_by_role("button", name="Follow this row").click()
    assert "that is not a number" in page.locator("#answer").inner_text()
    assert first.get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#answer").inner_text() == "Enter values to see the prediction."
    assert first.get_attribute("aria-invalid") is None


def test_following_the_rows_that_came_along(open_page, cancer, cancer_file):
    clf, X, y = cancer
    page = open_page(cancer_file)
    page.get_by_role("button", name="Show", exact=True).click()
    for row in range(20):
        assert leaf_of(page) == clf.apply(X)[row]
        assert marked(page) == set(np.flatnonzero(clf.decision_path(X).toarray()[row]).tolist())
        assert page.locator("#known").inner_text() == f"Its class is {y[row]}."
        page.get_by_role("button", name="The next row").click()


def test_rules_are_sorted_and_filtered(open_page, cancer, cancer_file):
    clf, _, _ = cancer
    page = open_page(cancer_file)

    def column(c):
        texts = page.locator(f"#rules tbody tr td:nth-child({c})").all_inner_texts()
        return [float(text.split(" ")[0].replace(",", "").rstrip("%")) for text in texts]

    assert column(4) == sorted(column(4), reverse=True)  # support
    page.get_by_role("button", name="confidence").click()
    assert column(5) == sorted(column(5), reverse=True)
    page.get_by_role("button", name="confidence").click()
    assert column(5) == sorted(column(5))
    assert len(column(5)) == clf.get_n_leaves()
    page.get_by_label("Class", exact=True).select_option(label="malignant")
    assert 0 < page.locator("#rules tbody tr").count() < clf.get_n_leaves()
    page.get_by_placeholder("words of a rule").fill("no such words")
    assert page.locator("#rules tbody tr").count() == 0


def test_what_it_says_of_the_rows(open_page, cancer, cancer_file):
    clf, X, y = cancer
    page = open_page(cancer_file)
    text = page.locator("#accuracy").inner_text()
    assert f"Accuracy {100 * clf.score(X, y):.1f}% on {len(y)} rows" in text
    cells = page.locator(".confusion").first.locator("tbody tr").first.locator("td").all_inner_texts()
    assert cells[0] == str(np.count_nonzero((y == "benign") & (clf.predict(X) == "benign")))
    assert "(chosen)" in page.locator("#search tr.chosen").inner_text()
    assert f"{clf.search_['nodes']:,}" in page.locator("#search").inner_text()


def test_dark_mode_and_print(open_page, cancer_file, tmp_path):
    luminance = "c => c.match(/\\d+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0)"
    ground = f"({luminance})(getComputedStyle(document.body).backgroundColor)"
    assert open_page(cancer_file).evaluate(ground) > 600
    page = open_page(cancer_file, color_scheme="dark")
    assert page.evaluate(ground) < 150
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate(ground) > 600
    assert not page.locator("#follow").is_visible()
    assert page.locator("#rules tbody tr").first.is_visible()


def test_markup_in_names_is_shown_and_not_run(open_page, tmp_path):
    random = np.random.default_rng(0)
    script, image = "<script>alert(1)</script>", "<img src=x onerror=alert(3)>"
    X = pd.DataFrame({script: random.random(200), "b": random.choice([image, "</script><script>alert(2)", "ok"], 200)})
    y = np.where((X[script] > 0.5) ^ (X["b"] == image), "</title><script>alert(4)</script>", "<b>bold</b>")
    clf = TopKTreeClassifier(k=4, max_depth=3).fit(X, y)
    clf.report(tmp_path / "r.html", X, y, title="<script>alert(5)</script>")
    page = open_page(tmp_path / "r.html")
    assert page.locator("h1").inner_text() == "<script>alert(5)</script>"
    assert script in page.locator("#rules tbody").inner_text()
    field(page, script).fill("0.7")
    field(page, "b").select_option(label=f'"{image}"')
    page.get_by_role("button", name="Follow this row").click()
    row = pd.DataFrame({script: [0.7], "b": [image]})
    assert leaf_of(page) == clf.apply(row)[0]
    assert page.locator(".verdict").inner_text() == clf.predict(row)[0]
    assert page.locator("main img, main b").count() == 0


def test_missing_values_booleans_and_other_categories(open_page, tmp_path):
    random = np.random.default_rng(1)
    n = 400
    X = pd.DataFrame(
        {
            "size": np.where(random.random(n) < 0.3, np.nan, random.random(n)),
            "colour": random.choice(["red", "green", "blue"], n),
            "new": random.random(n) < 0.5,
        }
    )
    y = X["size"].isna() ^ (X["colour"] == "red") ^ X["new"]
    clf = TopKTreeClassifier(k="all", max_depth=3).fit(X, y)
    clf.report(tmp_path / "r.html", X, max_rows=100)
    page = open_page(tmp_path / "r.html")
    page.get_by_role("button", name="Show", exact=True).click()
    for row in range(12):
        assert leaf_of(page) == clf.apply(X)[row]
        page.get_by_role("button", name="The next row").click()
    field(page, "size").fill("")
    field(page, "colour").select_option(label="(a new value)")
    field(page, "new").select_option(label="True")
    page.get_by_role("button", name="Follow this row").click()
    odd = pd.DataFrame({"size": [np.nan], "colour": ["violet"], "new": [True]})
    assert leaf_of(page) == clf.apply(odd)[0]
    assert "it is missing" in page.locator("#answer").inner_text()
    assert page.locator("#basis").inner_text() == (
        "Missing: size. The question about it says where missing values go. Treated as unknown: colour. Training had "
        "no such value, so the row follows the branch with more training rows there."
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_values_that_training_did_not_have(open_page, tmp_path, weighted):
    random = np.random.default_rng(1)
    n = 400
    X = pd.DataFrame(
        {
            "size": random.random(n).round(2),
            "colour": random.choice(["red", "green", "blue"], n),
            "grade": pd.Categorical(random.choice(list("ABCD"), n), categories=list("ABCD"), ordered=True),
            "new": random.random(n) < 0.3,
        }
    )
    y = (X["size"] > 0.3) ^ (X["colour"] == "red") ^ (X["grade"] > "B") ^ X["new"]
    weight = random.integers(1, 5, n) if weighted else None
    clf = TopKTreeClassifier(k="all", max_depth=4).fit(X, y, weight)
    assert clf.tree_.used_features() == [0, 1, 2, 3]
    odd = X.head(40).astype({"grade": object, "new": object})
    odd.iloc[::2, 0], odd.iloc[1::3, 1], odd.iloc[2::3, 1] = np.nan, "violet", None
    odd.iloc[::3, 2], odd.iloc[1::4, 2], odd.iloc[::5, 3], odd.iloc[-1] = "E", None, None, None
    clf.report(tmp_path / "r.html", odd, max_rows=100)
    page = open_page(tmp_path / "r.html")
    page.get_by_role("button", name="Show", exact=True).click()
    for leaf in clf.apply(odd):  # the rows that came along
        assert leaf_of(page) == leaf
        page.get_by_role("button", name="The next row").click()
    leaf = clf.apply(odd)[-1]
    assert page.locator("#basis").inner_text() == (
        f"Nothing is known: the row follows the branch with more training {'weight' if weighted else 'rows'} at every "
        f"question. {clf.tree_.n_node_samples[leaf]} of 400 training rows end at this leaf."
    )
    labels = {True: "True", False: "False", "violet": "(a new value)", "E": "(a new value)"}
    labels |= {colour: colour for colour in ("red", "green", "blue")} | {grade: f'"{grade}"' for grade in "ABCD"}
    for row in range(12):  # typed into the form
        field(page, "size").fill("" if odd["size"].isna().iloc[row] else str(odd["size"].iloc[row]))
        for name in ("colour", "grade", "new"):
            field(page, name).select_option(label=labels.get(odd[name].iloc[row], "(missing)"))
        page.get_by_role("button", name="Follow this row").click()
        assert leaf_of(page) == clf.apply(odd)[row]
        answer = page.locator("#answer").inner_text()
        treated = "is missing (treated as " in answer or "is not among the training values (treated as " in answer
        assert treated == (f"follows the branch with more training {'weight' if weighted else 'rows'} there." in answer)
        assert treated == ("went this way" in answer)


def mixed_table(seed, n=500):
    """Every kind of feature, with and without missing values, and rows with values that training did not have."""
    random = np.random.default_rng(seed)
    grades, letters = ["low", "middle", "high"], list("abcdefgh")
    many = [f"client {i}" for i in range(60)]
    X = pd.DataFrame(
        {
            "size": random.normal(0, 10, n).round(1),
            "year": random.integers(1990, 2020, n).astype(float),
            "letter": random.choice(letters, n),
            "sex": random.choice(["male", "female"], n),
            "grade": pd.Categorical(random.choice(grades, n), categories=grades, ordered=True),
            "new": random.random(n) < 0.4,
            "client": random.choice(many, n, p=np.r_[[0.4], np.full(59, 0.6 / 59)]),
        }
    )
    y = (X["size"] > 2) ^ (X["letter"] == "c") ^ (X["sex"] == "male") ^ (X["grade"] > "low") ^ X["new"]
    y = (y ^ (X["client"] == many[0])).to_numpy() ^ (random.random(n) < 0.1)
    X = X.astype({"grade": object, "new": object})
    for name in random.choice(X.columns, 3, replace=False):  # the others have no missing values in training
        X.loc[random.random(n) < 0.2, name] = None
    odd = X.sample(40, random_state=seed).reset_index(drop=True)
    for name in X.columns:
        odd.loc[random.random(len(odd)) < 0.25, name] = None
    for name in ("letter", "sex", "client"):
        odd.loc[random.random(len(odd)) < 0.2, name] = "another"
    odd.iloc[-1] = None
    types = {"grade": pd.CategoricalDtype(grades, ordered=True), "new": "boolean", "size": float, "year": float}
    return X.astype(types), np.where(y, "yes", "no"), odd.astype(types)


@pytest.mark.parametrize("seed", range(4))
def test_the_form_answers_as_predict_does(open_page, tmp_path, seed):
    X, y, odd = mixed_table(seed)
    clf = TopKTreeClassifier(k=2, max_depth=6, max_thresholds=None if seed % 2 else 32).fit(X, y)
    clf.report(tmp_path / "r.html", X, y)
    page = open_page(tmp_path / "r.html")
    used = [clf.feature_names_in_[f] for f in clf.tree_.used_features()]
    assert len(used) > 3
    features = {feature.name: feature for feature in clf.features_}
    for (_, row), leaf, label in zip(odd.iterrows(), clf.apply(odd), clf.predict(odd), strict=True):
        for name in used:
            fill(page, features[name], row[name])
        page.get_by_role("button", name="Follow this row").click()
        assert leaf_of(page) == leaf
        assert page.locator(".verdict").inner_text() == label
        path = [clf.feature_names_in_[f] for f in sorted(asked(clf, leaf))]
        basis = page.locator("#basis").inner_text() if page.locator("#basis").count() else ""
        missing = [name for name in path if pd.isna(row[name]) and has_missing(X, name)]
        unknown = [name for name in path if name not in missing and (pd.isna(row[name]) or row[name] == "another")]
        if row.isna().all():
            assert basis.startswith("Nothing is known")
            assert basis.endswith(f"{clf.tree_.n_node_samples[leaf]} of 500 training rows end at this leaf.")
        else:
            assert named(basis, "Treated as unknown") == set(unknown)
            assert named(basis, "Missing") == set(missing)


def has_missing(X, name):
    return X[name].isna().any()


def named(basis, word):
    """The features that a sentence such as `Missing: size, year.` names."""
    found = re.search(rf"{word}: (.*?)\. ", basis)
    return set(found.group(1).split(", ")) if found else set()


def asked(clf, leaf):
    """The features on the path to a leaf."""
    tree = clf.tree_
    parents = {int(child): i for i in tree.inner_nodes() for child in (tree.children_left[i], tree.children_right[i])}
    result, node = set(), int(leaf)
    while node in parents:
        node = parents[node]
        result.add(int(tree.feature[node]))
    return result


def fill(page, feature, value):
    box = field(page, feature.name)
    if feature.kind == "number":
        box.fill("" if pd.isna(value) else repr(float(value)))
    elif pd.isna(value):
        box.select_option(label="(missing)")
    elif value == "another":
        box.select_option(label="(a new value)")
    else:
        texts = box.locator("option").all_inner_texts()
        names = [str(value), f'"{value}"', "(another training value)"]
        box.select_option(label=next(name for name in names if name in texts))


def test_thousands_of_classes(open_page, tmp_path):
    random = np.random.default_rng(3)
    y = np.concatenate([np.arange(2000), random.integers(0, 2000, 4000)])
    X = np.column_stack([y + random.normal(0, 30, len(y)), random.random(len(y))])
    clf = TopKTreeClassifier(k=1, max_depth=4).fit(X, y)
    clf.report(tmp_path / "r.html", X, y)
    page = open_page(tmp_path / "r.html", WIDTHS["phone"])
    text = page.locator("#accuracy").inner_text()
    assert "There are 2,000 classes, too many for a matrix; the 50 most frequent of " in text
    assert page.locator("#accuracy table").first.locator("tbody tr").count() == 50
    rows = page.locator("#details tbody tr")
    assert rows.count() == 31
    assert rows.last.inner_text().startswith("1,970 other classes")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"]


def test_what_data_are_in_the_file_is_said(open_page, cancer, cancer_file, tmp_path):
    said = open_page(cancer_file).locator("#data-in-file")
    assert said.is_visible()
    assert "It also contains the first 100 of the 169 test rows" in said.inner_text()
    clf, X, y = cancer
    clf.report(tmp_path / "r.html", X, y)
    assert "It contains no rows of data." in open_page(tmp_path / "r.html").locator("#data-in-file").inner_text()


@pytest.mark.parametrize("width", [WIDTHS["phone"], WIDTHS["desktop"]])
def test_a_deep_tree_and_thirty_classes(open_page, tmp_path, width):
    random = np.random.default_rng(2)
    X = random.random((6000, 8))
    codes = (X[:, :8] > 0.5) @ (1 << np.arange(8))
    deep = TopKTreeClassifier(k=1, max_depth=8).fit(X, codes % 30, exact_root=True)
    deep.report(tmp_path / "deep.html", X, codes % 30, max_rows=100)
    assert deep.get_n_leaves() == 256
    assert (tmp_path / "deep.html").stat().st_size < 1_000_000
    page = open_page(tmp_path / "deep.html", width)
    assert page.locator("[role=treeitem]").count() < 50
    leaf = int(deep.apply(X)[0])
    page.get_by_role("button", name="Show", exact=True).click()
    assert leaf_of(page) == leaf
    assert page.locator(f"#node-{leaf}").is_visible()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("[role=treeitem]").count() == 511
    assert page.locator("#rules tbody tr").count() == 256
    assert page.locator(".confusion").first.locator("tbody tr").count() == 31
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_of_a_cross_validation(open_page, cancer, tmp_path):
    _, X, y = cancer
    cv = TopKTreeClassifierCV(ks=(1, 4), max_depths=(1, 2), cv=3).fit(X, y)
    cv.report(tmp_path / "cv.html", X, y)
    page = open_page(tmp_path / "cv.html")
    assert "k and depth, by cross-validation" in page.locator("#choices").inner_text()
    assert page.locator("#choices svg polyline").count() == 4  # two lines and their keys
    assert page.locator("#choices svg title").filter(has_text="chosen").count() == 1


@pytest.mark.parametrize("options", [{"max_depth": 0}, {"max_depth": 1, "class_weight": "balanced"}])
def test_small_and_weighted_trees(open_page, cancer, tmp_path, options):
    _, X, y = cancer
    TopKTreeClassifier(**options).fit(X, y).report(tmp_path / "small.html", X, y)
    page = open_page(tmp_path / "small.html")
    assert page.locator("[role=treeitem]").count() == 2 * options["max_depth"] + 1


def test_without_scripts_the_tree_is_there_as_text(open_page, cancer, cancer_file):
    page = open_page(cancer_file, java_script_enabled=False)
    assert page.locator("noscript pre").inner_text().strip() == cancer[0].export_text().strip()
