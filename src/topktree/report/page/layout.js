// Where the cards of the tree stand: root on the left, a line for every leaf and every folded node.

const CARD = {width: 212, height: 62, across: 74, down: 12, margin: 16};

function childrenOf(node) {
  return node.left === undefined ? [] : [node.left, node.right];
}

// place: node -> {x, y} of its card; every open node is half way between its children. isOpen(i): whether they are shown.
function placeCards(nodes, isOpen) {
  const place = new Map();
  let line = 0, deepest = 0;
  const visit = (i) => {
    const [left, right] = isOpen(i) ? childrenOf(nodes[i]) : [];
    const y = left === undefined ? line++ * (CARD.height + CARD.down) : (visit(left) + visit(right)) / 2;
    deepest = Math.max(deepest, nodes[i].depth);
    place.set(i, {x: CARD.margin + nodes[i].depth * (CARD.width + CARD.across), y: CARD.margin + y});
    return y;
  };
  visit(0);
  return {
    place,
    width: 3 * CARD.margin + deepest * (CARD.width + CARD.across) + CARD.width,
    height: 2 * CARD.margin + line * (CARD.height + CARD.down),
  };
}

// The line from a card to that of its child, as thick as the share of all rows that goes along it.
function edge(from, to, child, share) {
  const x0 = from.x + CARD.width, y0 = from.y + CARD.height / 2, x1 = to.x, y1 = to.y + CARD.height / 2;
  const middle = (x0 + x1) / 2;
  return draw("path", {
    class: "edge", d: `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}`,
    "stroke-width": Math.max(1.5, 16 * share), "data-child": child,
  });
}

// The deepest level down to which at most so many lines are shown; at least 2.
function levelsThatFit(nodes, lines) {
  const shown = (depth) => nodes.filter((node) => node.depth === depth || (node.left === undefined && node.depth < depth)).length;
  let depth = 2;
  while (shown(depth + 1) <= lines && shown(depth + 1) > shown(depth)) depth++;
  return depth;
}
