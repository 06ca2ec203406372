// The tree as a picture: root on the left, a card for every node, lines as thick as the rows that go along them. It
// scrolls as any box does (and by dragging), zooms, folds; one node is selected, and the way to it is marked.

const CARD = {width: 212, height: 62, across: 74, down: 12};
const FIRST_LINES = 12; // as many leaves and folded nodes are shown at first
const PAPER = {width: 690, smallest: 0.55}; // a tree that has to be scaled further down is an outline on paper
const ZOOM = {step: 1.25, smallest: 0.1, largest: 2.5};

function treeSection() {
  const nodes = page.nodes;
  nodes.forEach((node, i) => {
    for (const child of childrenOf(node)) nodes[child].parent = i;
  });
  const total = nodes[0].rows;
  const folded = new Set();
  const chosenHandlers = [];
  let selected = 0;
  let scale = 1;
  let cards = new Map();

  const scaled = make("div", {class: "scaled", role: "tree", "aria-label": "Decision tree"});
  const sheet = make("div", {class: "sheet"}, scaled);
  const canvas = make("div", {class: "canvas"}, sheet);
  const panel = make("div", {class: "panel", "aria-live": "polite", id: "details"});

  function isOpen(i) {
    return nodes[i].left !== undefined && !folded.has(i);
  }

  function pathTo(i) {
    const path = [];
    for (let node = i; node !== undefined; node = nodes[node].parent) path.unshift(node);
    return path;
  }

  // Leaves and folded nodes get a line each; every other node is half way between its children.
  function layout() {
    const place = new Map();
    let line = 0;
    const visit = (i) => {
      let y;
      if (isOpen(i)) {
        const [left, right] = childrenOf(nodes[i]);
        y = (visit(left) + visit(right)) / 2;
      } else {
        y = line++ * (CARD.height + CARD.down);
      }
      place.set(i, {x: 16 + nodes[i].depth * (CARD.width + CARD.across), y: 16 + y});
      return y;
    };
    visit(0);
    const deepest = Math.max(...[...place.keys()].map((i) => nodes[i].depth));
    return {
      place,
      width: 48 + deepest * (CARD.width + CARD.across) + CARD.width,
      height: 32 + line * (CARD.height + CARD.down),
    };
  }

  function edge(place, parent, child) {
    const from = place.get(parent), to = place.get(child);
    const x0 = from.x + CARD.width, y0 = from.y + CARD.height / 2, x1 = to.x, y1 = to.y + CARD.height / 2;
    const middle = (x0 + x1) / 2;
    return draw("path", {
      class: "edge", d: `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}`,
      "stroke-width": Math.max(1.5, 16 * nodes[child].rows / total), "data-child": child,
    });
  }

  function card(i, {x, y}) {
    const node = nodes[i];
    const isLeaf = node.left === undefined;
    const element = make("div", {
      class: isLeaf ? "node leaf" : "node", role: "treeitem", id: `node-${i}`, tabindex: i === selected ? 0 : -1, "aria-level": node.depth + 1,
      "aria-expanded": isLeaf ? null : String(!folded.has(i)), "aria-selected": String(i === selected),
      "aria-label": `${isLeaf ? page.classes[node.predicted] : `${node.name}${node.asked}?`} ${sizeOf(node, folded.has(i))}`,
      title: isLeaf ? page.classes[node.predicted] : `${node.name}${node.asked}?`,
      onclick: () => select(i, true),
    },
    make("span", {class: "what"}, isLeaf ? page.classes[node.predicted]
      : [make("span", {class: "name"}, node.name), make("span", {class: "asked"}, `${node.asked}?`)]),
    make("span", {class: "size"}, sizeOf(node, folded.has(i))),
    shareBar(node.counts));
    if (isLeaf) element.style.borderLeftColor = page.colours[node.predicted] ?? OTHER_COLOUR;
    if (!isLeaf) {
      element.append(make("button", {
        class: "fold", type: "button", tabindex: -1, "aria-label": folded.has(i) ? "Unfold" : "Fold",
        onclick: (event) => { event.stopPropagation(); toggle(i); },
      }, folded.has(i) ? "+" : "–"));
    }
    element.style.left = `${x}px`;
    element.style.top = `${y}px`;
    return element;
  }

  function render() {
    const {place, width, height} = layout();
    const hadFocus = scaled.contains(document.activeElement);
    const edges = draw("svg", {width, height, "aria-hidden": "true"});
    const answers = [];
    cards = new Map();
    for (const [i, position] of [...place].sort(([a], [b]) => a - b)) {
      cards.set(i, card(i, position));
      const parent = nodes[i].parent;
      if (parent !== undefined) {
        edges.append(edge(place, parent, i));
        const answer = make("span", {class: "answer", "data-child": i, "aria-hidden": "true"}, nodes[parent].yes === i ? "yes" : "no");
        answer.style.left = `${position.x - 4}px`;
        answer.style.top = `${position.y + CARD.height / 2}px`;
        answers.push(answer);
      }
    }
    replace(scaled, edges, answers, [...cards.values()]);
    scaled.style.width = `${width}px`;
    scaled.style.height = `${height}px`;
    resize();
    mark();
    if (hadFocus) cards.get(selected)?.focus({preventScroll: true});
  }

  function resize() {
    scaled.style.transform = `scale(${scale})`;
    sheet.style.width = `${scale * parseFloat(scaled.style.width)}px`;
    sheet.style.height = `${scale * parseFloat(scaled.style.height)}px`;
  }

  function mark() {
    const path = new Set(pathTo(selected));
    for (const [i, element] of cards) {
      element.classList.toggle("on", path.has(i));
      element.setAttribute("aria-selected", String(i === selected));
      element.tabIndex = i === selected ? 0 : -1;
    }
    for (const element of scaled.querySelectorAll("[data-child]")) {
      element.classList.toggle("on", path.has(Number(element.dataset.child)));
    }
  }

  function reveal(i) {
    const element = cards.get(i);
    const box = {left: scale * element.offsetLeft, top: scale * element.offsetTop, width: scale * CARD.width, height: scale * CARD.height};
    const outside = box.left < canvas.scrollLeft || box.left + box.width > canvas.scrollLeft + canvas.clientWidth
      || box.top < canvas.scrollTop || box.top + box.height > canvas.scrollTop + canvas.clientHeight;
    if (outside) {
      canvas.scrollLeft = box.left + box.width / 2 - canvas.clientWidth / 2;
      canvas.scrollTop = box.top + box.height / 2 - canvas.clientHeight / 2;
    }
  }

  function select(i, focus = false) {
    selected = i;
    const hidden = pathTo(i).slice(0, -1).filter((node) => folded.delete(node));
    if (hidden.length) render();
    else mark();
    replace(panel, details(i, pathTo(i)));
    reveal(i);
    if (focus) cards.get(i).focus({preventScroll: true});
    for (const handler of chosenHandlers) handler(i);
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

  // Zoom about the middle of what is seen, or about the pointer.
  function zoom(factor, at = {x: canvas.clientWidth / 2, y: canvas.clientHeight / 2}) {
    const before = scale;
    scale = Math.min(ZOOM.largest, Math.max(ZOOM.smallest, scale * factor));
    const x = (canvas.scrollLeft + at.x) / before, y = (canvas.scrollTop + at.y) / before;
    resize();
    canvas.scrollLeft = x * scale - at.x;
    canvas.scrollTop = y * scale - at.y;
  }

  function showAll() {
    scale = 1;
    resize();  // the box is as high as the tree, up to a limit
    scale = Math.min(1, canvas.clientWidth / parseFloat(scaled.style.width), canvas.clientHeight / parseFloat(scaled.style.height));
    scale = Math.max(scale, ZOOM.smallest);
    resize();
  }

  const keys = {
    ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => select(0, true), End: () => select(Math.max(...cards.keys()), true),
    ArrowRight: () => (isOpen(selected) ? select(nodes[selected].left, true) : folded.has(selected) && toggle(selected)),
    ArrowLeft: () => nodes[selected].parent !== undefined && select(nodes[selected].parent, true),
    Enter: () => nodes[selected].left !== undefined && toggle(selected), " ": () => nodes[selected].left !== undefined && toggle(selected),
    "+": () => zoom(ZOOM.step), "=": () => zoom(ZOOM.step), "-": () => zoom(1 / ZOOM.step), 0: showAll,
  };

  function step(by) {
    const shown = [...cards.keys()].sort((a, b) => a - b);
    const next = shown[shown.indexOf(selected) + by];
    if (next !== undefined) select(next, true);
  }

  scaled.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), {x: event.clientX - box.left, y: event.clientY - box.top});
  }, {passive: false});
  letDrag(canvas);

  addEventListener("beforeprint", () => {
    canvas.dataset.scale = scale;
    scale = Math.min(1, PAPER.width / parseFloat(scaled.style.width));
    element.classList.toggle("large", scale < PAPER.smallest || folded.size > 0);
    resize();
  });
  addEventListener("afterprint", () => {
    scale = Number(canvas.dataset.scale);
    resize();
  });

  const tools = make("div", {class: "bar", role: "toolbar", "aria-label": "View of the tree"},
    make("button", {type: "button", onclick: () => zoom(ZOOM.step), "aria-label": "Zoom in"}, "+"),
    make("button", {type: "button", onclick: () => zoom(1 / ZOOM.step), "aria-label": "Zoom out"}, "−"),
    make("button", {type: "button", onclick: showAll}, "Whole tree"),
    make("button", {type: "button", onclick: () => { folded.clear(); render(); }}, "Unfold all"),
    make("button", {type: "button", onclick: () => foldBelow(2)}, "Fold"));
  const element = section("tree", "The tree",
    make("p", {class: "screen"}, "Click a node to see who gets there. Drag to move, Ctrl and the wheel to zoom; with the keyboard: arrows, Enter to fold, + and −."),
    legend(), tools, make("div", {class: "split"}, canvas, panel), outline());

  function show() {
    const lines = (depth) => nodes.filter((node) => node.depth === depth || (node.left === undefined && node.depth < depth)).length;
    let depth = 2;
    while (lines(depth + 1) <= FIRST_LINES && lines(depth + 1) > lines(depth)) depth++;
    if (lines(depth) < nodes[0].leaves) foldBelow(depth);
    render();
    showAll();
    if (scale < 0.5) {
      scale = Math.min(1, Math.max(0.6, canvas.clientWidth / (3 * (CARD.width + CARD.across))));
      resize();
    }
    select(0);
  }

  return {element, show, select, pathTo, onSelect: (handler) => chosenHandlers.push(handler)};
}

function childrenOf(node) {
  return node.left === undefined ? [] : [node.left, node.right];
}

// How sure a node is: `86.7 % of 60 rows`.
function confidence(node) {
  return page.weighted ? node.confidence : `${percent(node.share)} of ${plural(node.rows, "row")}`;
}

// The second line of a card.
function sizeOf(node, isFolded) {
  if (node.left === undefined) return confidence(node);
  if (isFolded) return `${plural(node.leaves, "leaf", "leaves")} folded, ${plural(node.rows, "row")}`;
  return `${plural(node.rows, "row")}, ${percent(node.share)} ${page.classes[node.predicted]}`;
}

// Dragging with the mouse; fingers scroll the box by themselves.
function letDrag(canvas) {
  let start = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || event.target.closest(".fold")) return;
    start = {x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop, moved: false};
  });
  addEventListener("pointermove", (event) => {
    if (start === null) return;
    const x = event.clientX - start.x, y = event.clientY - start.y;
    start.moved ||= Math.hypot(x, y) > 5;
    if (!start.moved) return;
    canvas.classList.add("dragging");
    canvas.scrollLeft = start.left - x;
    canvas.scrollTop = start.top - y;
  });
  addEventListener("pointerup", () => {
    if (start?.moved) {
      const ignore = (event) => event.stopPropagation();
      addEventListener("click", ignore, {capture: true});
      setTimeout(() => removeEventListener("click", ignore, {capture: true}));
    }
    canvas.classList.remove("dragging");
    start = null;
  });
}

function legend() {
  const own = page.classes.map((name, c) => [name, c]).filter(([, c]) => page.colours[c] !== null);
  const others = page.classes.length - own.length;
  return make("ul", {class: "legend", "aria-label": "Colours of the classes"},
    own.map(([name, c]) => make("li", {}, swatch(c), name)),
    others ? make("li", {}, swatch(page.colours.indexOf(null)), `${plural(others, "other class", "other classes")}`) : null);
}

// What is known of a node: the way to it and its rows.
function details(i, path) {
  const node = page.nodes[i];
  const isLeaf = node.left === undefined;
  const title = isLeaf ? make("h3", {}, "Leaf: ", swatch(node.predicted), page.classes[node.predicted]) : make("h3", {}, `${node.name}${node.asked}?`);
  const order = page.classes.map((_, c) => c).filter((c) => node.counts[c] > 0 || (node.seen && node.seen[c] > 0));
  order.sort((a, b) => node.counts[b] - node.counts[a]);
  const total = node.counts.reduce((sum, n) => sum + n, 0);
  const seen = node.seen ? node.seen.reduce((sum, n) => sum + n, 0) : 0;
  const headings = ["class", page.weighted ? "weight" : "rows", "share", ...(node.seen ? [page.data.short, "share"] : [])];
  const rows = order.map((c) => [
    classTag(c), count(node.counts[c]), percent(node.counts[c] / total),
    ...(node.seen ? [count(node.seen[c]), seen ? percent(node.seen[c] / seen) : "–"] : []),
  ]);
  return [
    title,
    make("p", {class: "quiet"}, isLeaf ? `${confidence(node)}.` : `${plural(node.leaves, "leaf", "leaves")} below; ${confidence(node)} are ${page.classes[node.predicted]}.`),
    path.length > 1 ? [make("h3", {}, "The way here"), make("ol", {class: "path"}, path.slice(1).map((child) => make("li", {}, page.nodes[child].holds)))]
      : make("p", {}, "All rows start here."),
    make("h3", {}, "Classes"), table(headings, rows, {class: "fit"}),
  ];
}

// The tree as nested lists, for paper and small trees of words.
function outline() {
  const item = (i) => {
    const node = page.nodes[i];
    const text = `${i === 0 ? "" : `${node.holds}: `}${node.left === undefined ? `${page.classes[node.predicted]} (${confidence(node)})` : ""}`;
    return make("li", {}, text, node.left === undefined ? null : make("ul", {}, childrenOf(node).map(item)));
  };
  return make("ul", {class: "outline"}, item(0));
}
