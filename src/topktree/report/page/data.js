// Accuracy, confusion matrix and calibration on the test rows and on the training rows. The training rows have no
// calibration: the confidence of a leaf is its accuracy on them.

function dataSection() {
  const parts = [page.data, page.training].filter((part) => part !== null);
  return section("accuracy", "Accuracy",
    page.data === null ? make("p", {}, "These are the training rows; expect a lower accuracy on new rows. Pass test rows to the report to see them here.") : null,
    parts.map((part) => [
      parts.length > 1 ? make("h3", {}, `On the ${part.name}`) : null,
      make("p", {}, words(part)),
      make("div", {class: "columns"}, part.confusion ? confusion(part) : confusions(part), part === page.data ? calibrationChart(part, page.calibration) : null),
    ]));
}

function words(part) {
  const unit = part.weighted ? `weight ${count(part.total)}` : plural(part.total, "row");
  const base = `Always predicting ${part.majority.name} would give ${percent(part.majority.share)}.`;
  const unknown = part.unknown ? ` Classes that the training data did not have (${part.weighted ? `weight ${count(part.unknown)}` : plural(part.unknown, "row")}) count as misclassified.` : "";
  return `Accuracy ${percent(part.accuracy)} on ${unit}: ${count(part.misclassified)} misclassified. ${base} Brier score ${part.brier.toFixed(3)}.${unknown}`;
}

// Rows: actual classes; columns: predicted classes.
function confusion(part) {
  const cell = (n, actual, c) => {
    const share = part.actual_totals[actual] ? n / part.actual_totals[actual] : 0;
    const element = make("td", {class: actual === c && "right", title: `${part.actual[actual]} predicted as ${page.classes[c]}: ${count(n)} (${percent(share)})`}, n === 0 ? "·" : count(n));
    element.style.background = `rgba(var(--heat), ${(0.5 * share).toFixed(3)})`;
    return element;
  };
  return make("div", {}, make("h3", {}, "Confusion matrix"),
    scrollBox("Confusion matrix", make("table", {class: "confusion"},
      make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "actual \\ predicted"), page.classes.map((name) => make("th", {scope: "col"}, name)), make("th", {scope: "col"}, "recall"))),
      make("tbody", {}, part.confusion.map((row, actual) => make("tr", {}, make("th", {scope: "row"}, part.actual[actual]),
        row.map((n, c) => cell(n, actual, c)), make("td", {}, percent(part.recall[actual])))),
      make("tr", {}, make("th", {scope: "row"}, "precision"), part.precision.map((share) => make("td", {}, percent(share))), make("td", {}, percent(part.accuracy)))))));
}

// Of many classes, the pairs that are confused most often.
function confusions({pairs, n_pairs: all, actual, actual_totals: totals, weighted}) {
  const rows = pairs.map(([a, c, n]) => [actual[a], page.classes[c], count(n), percent(n / totals[a])]);
  const which = pairs.length < all ? `the ${count(pairs.length)} most frequent of ${plural(all, "confusion")} are listed.`
    : pairs.length ? "all confusions are listed." : "none was mistaken for another.";
  return make("div", {}, make("h3", {}, "Confusions"),
    make("p", {}, `There are ${count(page.classes.length)} classes, too many for a matrix; ${which}`),
    pairs.length ? scrollBox("Confusions", table(["actual", "predicted", weighted ? "weight" : "rows", "share of the actual class"], rows)) : null);
}

// Confidence of the leaves against their accuracy, in bins of equal width.
function calibrationChart(part, {bins, error}) {
  const most = Math.max(...bins.map((bin) => bin.n));
  const low = Math.floor(10 * Math.min(...bins.map((bin) => Math.min(bin.confidence, bin.low ?? bin.accuracy)))) / 10;
  const tick = (share) => percent(share, 0);
  const view = {
    domain: {x: [low, 1], y: [low, 1]}, ticks: {x: roundTicks(low, 1, tick), y: roundTicks(low, 1, tick)},
    titles: {x: "confidence of the leaves", y: "accuracy"},
  };
  const picture = chart("Calibration: confidence of the leaves against their accuracy", view, (at) => [
    draw("line", {class: "ideal", x1: at.x(low), y1: at.y(low), x2: at.x(1), y2: at.y(1)}),
    bins.map((bin) => [
      bin.low === null ? null : draw("line", {x1: at.x(bin.confidence), x2: at.x(bin.confidence), y1: at.y(bin.low), y2: at.y(bin.high), stroke: "var(--accent)", "stroke-width": 1.5}),
      dot(at.x(bin.confidence), at.y(bin.accuracy), 3 + 7 * Math.sqrt(bin.n / most), {fill: "var(--accent)"},
        `confidence ${percent(bin.confidence)}, accuracy ${percent(bin.accuracy)} on ${count(bin.n)}`)]),
  ]);
  const rows = bins.map((bin) => [percent(bin.confidence), percent(bin.accuracy), bin.low === null ? "–" : `${percent(bin.low)} to ${percent(bin.high)}`, count(bin.n)]);
  return make("div", {}, make("h3", {}, "Calibration"),
    make("p", {}, `Expected calibration error: ${(100 * error).toFixed(1)} percentage points, the mean gap between confidence and accuracy.`),
    picture, make("details", {}, make("summary", {}, "The numbers"), table(["confidence", "accuracy", "95% interval", part.weighted ? "weight" : "rows"], rows, {class: "fit"})));
}
