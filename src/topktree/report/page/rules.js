// The rules, one per leaf: sorted by any column, filtered by class and by words. A click shows the leaf in the tree.

function rulesSection(tree) {
  const hasData = page.data !== null;
  const columns = [
    {title: "rule", key: (leaf) => leaf.rule, cell: (leaf) => `${leaf.rule}`, class: "rule"},
    {title: "class", key: (leaf) => page.classes[leaf.predicted], cell: (leaf) => classTag(leaf.predicted)},
    {title: "conditions", key: (leaf) => leaf.conditions.length, cell: (leaf) => count(leaf.conditions.length), class: "number"},
    {title: "support", key: (leaf) => leaf.rows, cell: (leaf) => `${count(leaf.rows)} (${percent(leaf.rows / page.nodes[0].rows)})`, class: "number"},
    {title: "confidence", key: (leaf) => leaf.share, cell: (leaf) => percent(leaf.share), class: "number"},
  ];
  if (hasData) {
    columns.push(
      {title: page.data.short, key: (leaf) => leaf.seen_total, cell: (leaf) => count(leaf.seen_total), class: "number"},
      {title: "accuracy", key: (leaf) => accuracy(leaf) ?? -1, cell: (leaf) => percent(accuracy(leaf)), class: "number"});
  }
  const leaves = page.nodes.map((node, i) => ({...node, i})).filter((node) => node.left === undefined);
  const body = make("tbody");
  const found = make("p", {class: "quiet", "aria-live": "polite"});
  let order = {column: 3, down: true};

  const heads = columns.map((column, c) => make("th", {scope: "col", class: column.class}, make("button", {type: "button", onclick: () => {
    order = {column: c, down: order.column === c ? !order.down : c > 1};
    render();
  }}, column.title)));
  const words = make("input", {type: "search", "aria-label": "Rules with these words", placeholder: "words of a rule", oninput: render});
  const ofClass = make("select", {"aria-label": "Class", onchange: render}, make("option", {value: ""}, "all classes"),
    [...new Set(leaves.map((leaf) => leaf.predicted))].sort((a, b) => a - b).map((c) => make("option", {value: c}, page.classes[c])));

  function render() {
    const wanted = words.value.toLowerCase();
    const shown = leaves.filter((leaf) => (ofClass.value === "" || leaf.predicted === Number(ofClass.value)) && leaf.rule.toLowerCase().includes(wanted));
    const {key} = columns[order.column];
    shown.sort((a, b) => compare(key(a), key(b)) * (order.down ? -1 : 1) || a.i - b.i);
    heads.forEach((element, c) => element.setAttribute("aria-sort", c !== order.column ? "none" : order.down ? "descending" : "ascending"));
    replace(body, shown.map((leaf) => make("tr", {class: "pick", onclick: () => pick(leaf.i)}, columns.map((column, c) =>
      make("td", {class: column.class}, c === 0 ? [column.cell(leaf), " ", make("button", {type: "button", class: "screen", "aria-label": `Show this leaf in the tree: ${leaf.rule}`, onclick: (event) => { event.stopPropagation(); pick(leaf.i); }}, "show")] : column.cell(leaf))))));
    replace(found, `${plural(shown.length, "rule")} of ${count(leaves.length)}.`);
  }

  function pick(i) {
    tree.select(i);
    document.getElementById("tree").scrollIntoView();
  }

  render();
  return section("rules", "The rules",
    make("p", {}, `One rule per leaf; every row matches exactly one. Support: the training rows that match. Confidence: the share of the predicted class ${page.weighted ? "in their weight" : "among them"}.`),
    make("div", {class: "bar"}, words, ofClass), found,
    scrollBox("The rules", make("table", {}, make("thead", {}, make("tr", {}, heads)), body)));
}

function accuracy(leaf) {
  return leaf.seen_total ? leaf.counts[0][2] / leaf.seen_total : null; // the first class is the predicted one
}

function compare(a, b) {
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}
