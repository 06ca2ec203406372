// Elements from plain values. Text always goes in as text nodes, never as markup: whatever a feature or class is called,
// it is shown and not run.

const SVG = "http://www.w3.org/2000/svg";

// make("td", {class: "number", onclick: f}, "text", element, [more]): null and undefined children are left out.
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

function section(id, title, ...children) {
  return make("section", {id, "aria-labelledby": `${id}-title`}, make("h2", {id: `${id}-title`}, title), ...children);
}

// A box with scroll bars, which the keyboard reaches too.
function scrollBox(label, ...children) {
  return make("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": label}, ...children);
}

function sum(numbers) {
  return numbers.reduce((total, n) => total + n, 0);
}

const grouped = new Intl.NumberFormat("en-US", {maximumFractionDigits: 4});

function count(number) {
  return grouped.format(number);
}

function percent(share, digits = 1) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)}%`;
}

function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function seconds(value) {
  if (value < 0.001) return "under a millisecond";
  return value < 1 ? `${(1000 * value).toFixed(0)} ms` : `${value.toPrecision(3)} s`;
}

// A bar of a node's class shares; the classes without a colour of their own are one grey part at the end.
function shareBar(node) {
  const bar = make("div", {class: "share", "aria-hidden": "true"});
  const parts = [...node.counts].sort(([a], [b]) => a - b).map(([c, n]) => ({colour: page.colours[c], n, name: page.classes[c]}));
  const grey = parts.filter((part) => part.colour === null);
  const rest = {colour: page.other_colour, n: sum(grey.map((part) => part.n)) + (node.others?.[1] ?? 0), name: "other classes"};
  for (const {colour, n, name} of [...parts.filter((part) => part.colour !== null), rest]) {
    if (n > 0) {
      const part = make("i", {title: `${name}: ${percent(n / node.total)}`});
      part.style.flex = `${n} 0 0`;
      part.style.background = colour;
      bar.append(part);
    }
  }
  return bar;
}

function colourOf(c) {
  return page.colours[c] ?? page.other_colour;
}

// A class with its colour, which stay together.
function classTag(c) {
  return make("span", {class: "tag"}, swatch(c), page.classes[c]);
}

function swatch(c) {
  const box = make("span", {class: "swatch", "aria-hidden": "true"});
  box.style.background = colourOf(c);
  return box;
}

// Rows of a table are arrays of cells; columns of figures are set right.
function table(headings, rows, attributes = {}) {
  const numeric = headings.map((_, i) => rows.some((row) => isFigure(row[i])));
  return make("table", attributes,
    make("thead", {}, make("tr", {}, headings.map((text, i) => make("th", {scope: "col", class: numeric[i] && "number"}, text)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, i) =>
      make("td", {class: numeric[i] && "number"}, cell))))));
}

function isFigure(cell) {
  return typeof cell === "string" && /^[–\d−-][\d.,  ]*%?$/.test(cell);
}
