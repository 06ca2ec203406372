// How right the tree is, on the rows given and on the training data: accuracy, confusion matrix, calibration. Of the
// training data there is no calibration: a leaf promises what was true of them.

function dataSection() {
  const parts = [page.data, page.training].filter((part) => part !== null);
  return section("accuracy", "How right it is",
    page.data === null ? make("p", {}, "These are the rows that the tree was made from, so expect fewer right on new ones. Give rows that it has not seen to have them shown here.") : null,
    parts.map((part) => [
      parts.length > 1 ? make("h3", {}, `On the ${part.name}`) : null,
      make("p", {}, words(part)),
      make("div", {class: "columns"}, confusion(part), part === page.data ? calibrationChart(part, page.calibration) : null),
    ]));
}

function words(part) {
  const unit = part.weighted ? `weight ${count(part.total)}` : plural(part.total, "row");
  const base = `Always saying ${part.usual.name} would be right for ${percent(part.usual.share)}.`;
  const unknown = part.unknown ? ` ${part.weighted ? `Weight ${count(part.unknown)}` : plural(part.unknown, "row")} of classes that the training data did not have count as wrong.` : "";
  return `${percent(part.accuracy)} of ${unit} right, ${count(part.wrong)} wrong. ${base} Brier score ${part.brier.toFixed(3)}.${unknown}`;
}

// Rows: what they are; columns: what the tree says.
function confusion(part) {
  const cell = (n, actual, c) => {
    const share = part.actual_totals[actual] ? n / part.actual_totals[actual] : 0;
    const element = make("td", {class: actual === c && "right", title: `${part.actual[actual]} taken for ${page.classes[c]}: ${count(n)} (${percent(share)})`}, n === 0 ? "·" : count(n));
    element.style.background = `rgba(var(--heat), ${(0.5 * share).toFixed(3)})`;
    return element;
  };
  return make("div", {}, make("h3", {}, "Who is taken for whom"),
    scrollBox("Confusion matrix", make("table", {class: "confusion"},
      make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "is \\ tree says"), page.classes.map((name) => make("th", {scope: "col"}, name)), make("th", {scope: "col"}, "found"))),
      make("tbody", {}, part.confusion.map((row, actual) => make("tr", {}, make("th", {scope: "row"}, part.actual[actual]),
        row.map((n, c) => cell(n, actual, c)), make("td", {}, percent(part.found[actual])))),
      make("tr", {}, make("th", {scope: "row"}, "right when said"), part.precision.map((share) => make("td", {}, percent(share))), make("td", {}, percent(part.accuracy)))))));
}

// What the leaves promise against what comes true, in bins of equal width.
function calibrationChart(part, {bins, error}) {
  const most = Math.max(...bins.map((bin) => bin.n));
  const low = Math.floor(10 * Math.min(...bins.map((bin) => Math.min(bin.promised, bin.low ?? bin.right)))) / 10;
  const tick = (share) => percent(share, 0);
  const view = {
    domain: {x: [low, 1], y: [low, 1]}, ticks: {x: roundTicks(low, 1, tick), y: roundTicks(low, 1, tick)},
    titles: {x: "what the leaf promises", y: "what is right"},
  };
  const picture = chart("Calibration: confidence of the leaves against the share that is right", view, (at) => [
    draw("line", {class: "ideal", x1: at.x(low), y1: at.y(low), x2: at.x(1), y2: at.y(1)}),
    bins.map((bin) => [
      bin.low === null ? null : draw("line", {x1: at.x(bin.promised), x2: at.x(bin.promised), y1: at.y(bin.low), y2: at.y(bin.high), stroke: "var(--accent)", "stroke-width": 1.5}),
      dot(at.x(bin.promised), at.y(bin.right), 3 + 7 * Math.sqrt(bin.n / most), {fill: "var(--accent)"},
        `promised ${percent(bin.promised)}, right ${percent(bin.right)} of ${count(bin.n)}`)]),
  ]);
  const rows = bins.map((bin) => [percent(bin.promised), percent(bin.right), bin.low === null ? "–" : `${percent(bin.low)} to ${percent(bin.high)}`, count(bin.n)]);
  return make("div", {}, make("h3", {}, "Can its confidence be trusted?"),
    make("p", {}, `On average promise and truth differ by ${(100 * error).toFixed(1)} points (expected calibration error).`),
    picture, make("details", {}, make("summary", {}, "The numbers"), table(["promised", "right", "95 % interval", part.weighted ? "weight" : "rows"], rows, {class: "fit"})));
}
