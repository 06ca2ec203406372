// Charts as SVG: axes, points, lines. Colours are classes of the style sheet or handed in; every chart has a table beside
// it that says the same.

const PLOT = {width: 520, height: 320, left: 56, right: 26, top: 14, bottom: 44};

// domain: {x: [low, high], y: [low, high]}; ticks: {x: [{at, text}], y: [...]}
function chart(label, {domain, ticks, titles}, content) {
  const at = {
    x: (value) => PLOT.left + (PLOT.width - PLOT.left - PLOT.right) * position(value, domain.x),
    y: (value) => PLOT.height - PLOT.bottom - (PLOT.height - PLOT.top - PLOT.bottom) * position(value, domain.y),
  };
  const bottom = PLOT.height - PLOT.bottom, right = PLOT.width - PLOT.right;
  return draw("svg", {class: "chart", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": label},
    ticks.y.map(({at: y, text}) => [
      draw("line", {class: "grid", x1: PLOT.left, x2: right, y1: at.y(y), y2: at.y(y)}),
      draw("text", {class: "tick", x: PLOT.left - 6, y: at.y(y) + 4, "text-anchor": "end"}, text)]),
    ticks.x.map(({at: x, text}) => draw("text", {class: "tick", x: at.x(x), y: bottom + 16, "text-anchor": "middle"}, text)),
    draw("text", {x: (PLOT.left + right) / 2, y: PLOT.height - 6, "text-anchor": "middle"}, titles.x),
    draw("text", {x: 0, y: 0, transform: `translate(13 ${(PLOT.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle"}, titles.y),
    content(at));
}

function position(value, [low, high]) {
  return high > low ? (value - low) / (high - low) : 0.5;
}

function line(points, attributes) {
  return draw("polyline", {fill: "none", points: points.map(([x, y]) => `${x},${y}`).join(" "), ...attributes});
}

function dot(x, y, radius, attributes, title) {
  return draw("circle", {cx: x, cy: y, r: radius, ...attributes}, draw("title", {}, title));
}

// About five round numbers between low and high.
function roundTicks(low, high, text) {
  if (!(high > low)) return [{at: low, text: text(low)}];
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push({at: i * step, text: text(i * step)});
  return ticks;
}
