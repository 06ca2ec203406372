// The texts about a node: on its card, beside the tree, and in the outline that replaces the tree on paper.

// Its question, or the class that it predicts.
function headline(node) {
  return node.left === undefined ? page.classes[node.predicted] : `${node.name}${node.asked}?`;
}

// How sure it is: `86.7% of 60 rows`.
function confidence(node) {
  return page.weighted ? node.confidence : `${percent(node.share)} of ${plural(node.rows, "row")}`;
}

// The second line of a card.
function sizeOf(node, isFolded) {
  if (node.left === undefined) return confidence(node);
  if (isFolded) return `${plural(node.leaves, "leaf", "leaves")} folded, ${plural(node.rows, "row")}`;
  return `${plural(node.rows, "row")}, ${percent(node.share)} ${page.classes[node.predicted]}`;
}

function legend() {
  const own = page.classes.map((name, c) => [name, c]).filter(([, c]) => page.colours[c] !== null);
  const others = page.classes.length - own.length;
  return make("ul", {class: "legend", "aria-label": "Colours of the classes"},
    own.map(([name, c]) => make("li", {}, swatch(c), name)),
    others ? make("li", {}, swatch(page.colours.indexOf(null)), `${plural(others, "other class", "other classes")}`) : null);
}

// The path to a node, and its classes.
function details(i, path) {
  const node = page.nodes[i];
  const isLeaf = node.left === undefined;
  return [
    make("h3", {}, isLeaf ? ["Leaf: ", swatch(node.predicted)] : null, headline(node)),
    make("p", {class: "quiet"}, isLeaf ? `${confidence(node)}.` : `${plural(node.leaves, "leaf", "leaves")} below; ${confidence(node)} are ${page.classes[node.predicted]}.`),
    path.length > 1 ? [make("h3", {}, "Path to this node"), make("ol", {class: "path"}, path.slice(1).map((child) => make("li", {}, page.nodes[child].holds)))]
      : make("p", {}, "All rows start here."),
    make("h3", {}, "Classes"), classTable(node),
  ];
}

function classTable(node) {
  const figures = (n, seen) => [count(n), percent(n / node.total),
    ...(page.data ? [count(seen), node.seen_total ? percent(seen / node.seen_total) : "–"] : [])];
  const headings = ["class", page.weighted ? "weight" : "rows", "share", ...(page.data ? [page.data.short, "share"] : [])];
  const rows = node.counts.map(([c, ...weights]) => [classTag(c), ...figures(...weights)]);
  if (node.others) rows.push([plural(node.others[0], "other class", "other classes"), ...figures(...node.others.slice(1))]);
  return table(headings, rows, {class: "fit"});
}

// The tree as nested lists: on paper, where the picture would be too small or has folded nodes.
function outline() {
  const item = (i) => {
    const node = page.nodes[i];
    const text = `${i === 0 ? "" : `${node.holds}: `}${node.left === undefined ? `${page.classes[node.predicted]} (${confidence(node)})` : ""}`;
    return make("li", {}, text, node.left === undefined ? null : make("ul", {}, childrenOf(node).map(item)));
  };
  return make("ul", {class: "outline"}, item(0));
}
