// The tree as a picture: a card for every node, one of them selected, and the path to it marked. Nodes fold.

const FIRST_LINES = 12; // as many leaves and folded nodes are shown at first

function treeSection() {
  const nodes = page.nodes;
  nodes.forEach((node, i) => childrenOf(node).forEach((child) => { nodes[child].parent = i; }));
  const folded = new Set();
  let selected = 0;
  let cards = new Map();
  const picture = make("div", {class: "scaled", role: "tree", "aria-label": "Decision tree"});
  const view = makeView(picture);
  const panel = make("div", {class: "panel", "aria-live": "polite", id: "details", tabindex: 0, role: "region", "aria-label": "The selected node"});

  const isOpen = (i) => nodes[i].left !== undefined && !folded.has(i);

  function pathTo(i) {
    const path = [];
    for (let node = i; node !== undefined; node = nodes[node].parent) path.unshift(node);
    return path;
  }

  function render() {
    const {place, width, height} = placeCards(nodes, isOpen);
    const hadFocus = picture.contains(document.activeElement);
    const edges = draw("svg", {width, height, "aria-hidden": "true"});
    const answers = [];
    cards = new Map();
    for (const [i, position] of [...place].sort(([a], [b]) => a - b)) {
      const {parent} = nodes[i];
      cards.set(i, card(i, position, folded.has(i), {select: () => select(i, true), toggle: () => toggle(i)}));
      if (parent === undefined) continue;
      edges.append(edge(place.get(parent), position, i, nodes[i].rows / nodes[0].rows));
      answers.push(answer(i, position));
    }
    replace(picture, edges, answers, [...cards.values()]);
    view.resize(width, height);
    mark();
    if (hadFocus) cards.get(selected)?.focus({preventScroll: true});
  }

  function mark() {
    const path = new Set(pathTo(selected));
    for (const [i, element] of cards) {
      element.classList.toggle("on", path.has(i));
      element.setAttribute("aria-selected", String(i === selected));
      element.tabIndex = i === selected ? 0 : -1;
    }
    for (const element of picture.querySelectorAll("[data-child]")) {
      element.classList.toggle("on", path.has(Number(element.dataset.child)));
    }
  }

  function select(i, focus = false) {
    selected = i;
    const opened = pathTo(i).slice(0, -1).filter((node) => folded.delete(node));
    if (opened.length) render();
    else mark();
    replace(panel, details(i, pathTo(i)));
    const element = cards.get(i);
    view.reveal(element.offsetLeft, element.offsetTop, CARD.width, CARD.height);
    if (focus) element.focus({preventScroll: true});
  }

  function toggle(i) {
    if (!folded.delete(i)) {
      folded.add(i);
      if (pathTo(selected).includes(i)) select(i);
    }
    render();
  }

  function foldBelow(depth) {
    folded.clear();
    nodes.forEach((node, i) => { if (node.left !== undefined && node.depth >= depth) folded.add(i); });
    const shown = pathTo(selected).find((i) => folded.has(i));
    if (shown !== undefined) select(shown);
    render();
  }

  function step(by) {
    const shown = [...cards.keys()].sort((a, b) => a - b);
    const next = shown[shown.indexOf(selected) + by];
    if (next !== undefined) select(next, true);
  }

  const fold = () => nodes[selected].left !== undefined && toggle(selected);
  listenTo(picture, {
    ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => select(0, true), End: () => select(Math.max(...cards.keys()), true),
    ArrowRight: () => (isOpen(selected) ? select(nodes[selected].left, true) : folded.has(selected) && toggle(selected)),
    ArrowLeft: () => nodes[selected].parent !== undefined && select(nodes[selected].parent, true),
    Enter: fold, " ": fold, "+": () => view.zoom(ZOOM.step), "=": () => view.zoom(ZOOM.step), "-": () => view.zoom(1 / ZOOM.step), 0: view.showAll,
  });
  const element = section("tree", "The tree",
    make("p", {class: "screen"}, "Click a node to see its path and its classes. Drag to move, Ctrl and the wheel to zoom; with the keyboard: arrows, Enter to fold, + and −."),
    legend(), tools(view, () => { folded.clear(); render(); }, () => foldBelow(2)), make("div", {class: "split"}, view.box, panel), outline());
  view.fitToPaper((fits) => element.classList.toggle("large", !fits || folded.size > 0));

  // Once the section is in the page, and so has a size.
  function show() {
    const depth = levelsThatFit(nodes, FIRST_LINES);
    nodes.forEach((node, i) => { if (node.left !== undefined && node.depth >= depth) folded.add(i); });
    render();
    view.showReadable(3 * (CARD.width + CARD.across));
    select(0);
  }

  return {element, show, select};
}

function card(i, {x, y}, isFolded, {select, toggle}) {
  const node = page.nodes[i];
  const isLeaf = node.left === undefined;
  const said = `${i === 0 ? "" : `${node.holds}: `}${headline(node)} ${sizeOf(node, isFolded)}`;
  const element = make("div", {
    class: isLeaf ? "node leaf" : "node", role: "treeitem", id: `node-${i}`, "aria-level": node.depth + 1,
    "aria-expanded": isLeaf ? null : String(!isFolded), "aria-label": said, title: headline(node), onclick: select,
  },
  make("span", {class: "what"}, isLeaf ? page.classes[node.predicted]
    : [make("span", {class: "name"}, node.name), make("span", {class: "asked"}, `${node.asked}?`)]),
  make("span", {class: "size"}, sizeOf(node, isFolded)),
  shareBar(node),
  isLeaf ? null : make("button", {
    class: "fold", type: "button", tabindex: -1, "aria-label": isFolded ? "Unfold" : "Fold",
    onclick: (event) => { event.stopPropagation(); toggle(); },
  }, isFolded ? "+" : "–"));
  if (isLeaf) element.style.borderLeftColor = colourOf(node.predicted);
  element.style.left = `${x}px`;
  element.style.top = `${y}px`;
  return element;
}

// The answer that leads to a card, beside it.
function answer(i, {x, y}) {
  const element = make("span", {class: "answer", "data-child": i, "aria-hidden": "true"}, page.nodes[page.nodes[i].parent].left === i ? "yes" : "no");
  element.style.left = `${x - 4}px`;
  element.style.top = `${y + CARD.height / 2}px`;
  return element;
}

function tools(view, unfold, fold) {
  const button = (text, act, label) => make("button", {type: "button", onclick: act, "aria-label": label}, text);
  return make("div", {class: "bar", role: "group", "aria-label": "View of the tree"},
    button("+", () => view.zoom(ZOOM.step), "Zoom in"), button("−", () => view.zoom(1 / ZOOM.step), "Zoom out"),
    button("Whole tree", view.showAll), button("Unfold all", unfold), button("Fold", fold));
}

// keys: what each does, by its name.
function listenTo(element, keys) {
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
