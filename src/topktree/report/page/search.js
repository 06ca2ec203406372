// The search: its candidates at the root with the cost of the best tree below each, its progress, its statistics.

function searchSection() {
  const search = page.search;
  return section("search", "The search", search.words.map((text) => make("p", {}, text)),
    rootChoices(search), trace(search), make("h3", {}, "Statistics"), list(search.figures));
}

function list(pairs) {
  return make("dl", {}, pairs.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function rootChoices(search) {
  if (search.root === null) return null;
  const {choices, unit} = search.root;
  const most = Math.max(...choices.map((choice) => choice.cost), 1e-9);
  const best = Math.max(...choices.map((choice) => choice.score), 1e-300);
  const rows = choices.map((choice) => make("tr", {class: choice.chosen && "chosen"},
    make("td", {class: "number"}, count(choice.rank)),
    make("td", {}, choice.literal, choice.chosen ? make("strong", {}, " (chosen)") : null),
    make("td", {}, meter(choice.score / best, false), ` ${choice.score_text}`),
    make("td", {}, meter(choice.cost / most, !choice.exact), ` ${choice.exact ? "" : "at least "}${choice.cost_text}`)));
  const bounded = choices.some((choice) => !choice.exact);
  return [
    make("h3", {}, "Candidates at the root"),
    make("p", {}, search.root.words),
    scrollBox("Candidates at the root", make("table", {}, make("thead", {}, make("tr", {}, ["rank", "split", search.root.score_name, `best tree below: ${unit}`].map((text) => make("th", {scope: "col"}, text)))), make("tbody", {}, rows))),
    bounded ? make("p", {class: "quiet"}, "“At least”: the search abandoned this candidate as soon as it could no longer win; the number is the bound proven by then.") : null,
    search.root.more ? make("p", {class: "quiet"}, search.root.more) : null,
  ];
}

function meter(share, isBound) {
  const bar = make("span", {class: isBound ? "meter bound" : "meter", "aria-hidden": "true"});
  bar.style.width = `${Math.max(0, Math.min(1, share)) * 110}px`;
  return bar;
}

function trace(search) {
  if (search.trace.length < 2) return null;
  return [make("h3", {}, "Progress"), make("p", {}, "The search widened k step by step; every step ends with a complete tree."),
    table(["k", "cost", "after"], search.trace.map((step) => [count(step.k), step.cost_text, seconds(step.seconds)]), {class: "fit"})];
}

// Other tree sizes and their accuracy: from cross-validation, and from pruning this tree.
function choicesSection() {
  const {grid, pruning} = page.choices;
  if (grid === null && pruning.length < 2) return null;
  return section("choices", "Other tree sizes", grid === null ? null : gridPart(grid), pruning.length < 2 ? null : pruningPart(pruning));
}

// Lines differ in colour first, then in dashes. Okabe and Ito's colours, without those too pale for a line on white.
const LINE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#8c6d00"];
const LINE_DASHES = ["", "7 4", "2 3", "8 3 2 3"];

function lineStyle(i) {
  const dashes = LINE_DASHES[Math.floor(i / LINE_COLOURS.length) % LINE_DASHES.length];
  return {stroke: LINE_COLOURS[i % LINE_COLOURS.length], "stroke-dasharray": dashes};
}

function gridPart(grid) {
  const {lines} = grid;
  const all = lines.flatMap((line) => line.points);
  const low = Math.min(...all.map((point) => point.score - point.se)), high = Math.max(...all.map((point) => point.score + point.se));
  const depths = [...new Set(all.map((point) => point.depth))].sort((a, b) => a - b);
  const text = (value) => (grid.percent ? percent(value) : value.toFixed(3));
  const view = {
    domain: {x: [depths[0], depths.at(-1)], y: [low, high]}, titles: {x: "depth", y: grid.scoring},
    ticks: {x: depths.map((depth) => ({at: depth, text: String(depth)})), y: roundTicks(low, high, text)},
  };
  const picture = chart(`${grid.scoring} by depth, a line for every k`, view, (at) => lines.map((one, i) => {
    const style = lineStyle(i), colour = style.stroke;
    const spread = (i - (lines.length - 1) / 2) * 5;
    const points = one.points.map((point) => ({...point, x: at.x(point.depth) + spread, y: at.y(point.score)}));
    return [
      line(points.map(({x, y}) => [x, y]), {...style, "stroke-width": 2}),
      points.map((point) => [
        draw("line", {x1: point.x, x2: point.x, y1: at.y(point.score - point.se), y2: at.y(point.score + point.se), stroke: colour}),
        dot(point.x, point.y, point.chosen ? 7 : 3.5, {fill: colour, stroke: point.chosen ? "var(--text)" : "none", "stroke-width": 2},
          `${one.name}, depth ${point.depth}: ${text(point.score)} ± ${text(point.se)}, ${point.leaves.toFixed(1)} leaves${point.chosen ? ", chosen" : ""}`)]),
    ];
  }));
  const keys = make("ul", {class: "legend"}, lines.map((one, i) => {
    const sample = draw("svg", {width: 28, height: 10, "aria-hidden": "true"}, line([[0, 5], [28, 5]], {...lineStyle(i), "stroke-width": 3}));
    return make("li", {}, sample, ` ${one.name}`);
  }));
  const rows = lines.flatMap((one) => one.points.map((point) => [one.name, String(point.depth), `${text(point.score)} ± ${text(point.se)}`, point.leaves.toFixed(1), point.chosen ? "chosen" : point.best ? "best" : ""]));
  return [make("h3", {}, "k and depth, by cross-validation"), make("p", {}, grid.words), keys, picture,
    make("details", {}, make("summary", {}, "The numbers"), scrollBox("Scores", table(["", "depth", grid.scoring, "leaves", ""], rows)))];
}

function pruningPart(steps) {
  const hasData = steps[0].test !== null;
  const rows = steps.map((step) => [count(step.leaves), percent(step.train), ...(hasData ? [percent(step.test)] : []), step.whole ? "this tree" : ""]);
  return [make("h3", {}, "Pruning"),
    make("p", {}, "This tree with its least useful splits removed one after another (minimal cost-complexity pruning), and the accuracy of what remains."),
    scrollBox("Sizes", table(["leaves", "accuracy, training", ...(hasData ? ["accuracy, test"] : []), ""], rows))];
}
