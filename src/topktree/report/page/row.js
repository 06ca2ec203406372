// A row and its path through the tree: values typed into a form, or one of the test rows in the page.

// A category that training did not have; above all codes of the others.
const ANOTHER = "Infinity";

function rowSection(tree) {
  if (page.nodes.length === 1) return null;
  const used = page.features.filter((feature) => feature.used);
  const featureAt = new Map(used.map((feature) => [feature.index, feature]));
  const fields = new Map(used.map((feature) => [feature.index, field(feature)]));
  const answer = make("div", {class: "panel", "aria-live": "polite", id: "answer"}, hint());
  const known = make("p", {class: "quiet", id: "known"});

  function follow() {
    const values = new Map();
    let bad = null;
    for (const [f, {read, name}] of fields) {
      const value = read();
      if (value === undefined) bad ??= name;
      values.set(f, value);
    }
    if (bad !== null) {
      replace(answer, make("p", {}, `${bad}: that is not a number. Leave it empty if it is missing.`));
      return;
    }
    const {leaf, steps} = walk(values);
    const rule = page.nodes[leaf].conditions.map(({feature: f, text, treated}) => {
      const what = news(featureAt.get(f), values.get(f));
      return what === null ? text : `${featureAt.get(f).name} ${what} (treated as ${treated})`;
    });
    const reasons = steps.map(({node, yes}) =>
      `${headline(node)} ${yes ? "Yes" : "No"}: ${reason(featureAt.get(node.feature), values.get(node.feature))}.`);
    const asked = [...new Set(steps.map(({node}) => featureAt.get(node.feature)))];
    replace(answer, verdict(page.nodes[leaf], rule, reasons, basis(page.nodes[leaf], values, asked)));
    tree.select(leaf);
  }

  function show(r) {
    const row = page.rows.values[r];
    page.rows.features.forEach((f, column) => fields.get(f).write(row[column]));
    follow();
    if (page.rows.labels) replace(known, `Its class is ${page.rows.labels[r]}.`);
  }

  function forget() {
    replace(known);
    replace(answer, hint());
  }

  const form = make("form", {onsubmit: (event) => { event.preventDefault(); replace(known); follow(); }, oninput: forget, onreset: () => {
    for (const {forgive} of fields.values()) forgive();
    forget();
  }},
  make("div", {class: "fields"}, [...fields.values()].map(({element}) => element)),
  make("div", {class: "bar"}, make("button", {type: "submit"}, "Follow this row"),
    make("button", {type: "reset"}, "Clear")));
  return section("follow", "Follow a row",
    make("p", {}, `The tree uses ${used.length === page.n_features ? `all ${count(used.length)}` : `${count(used.length)} of the ${count(page.n_features)}`} features. An empty field is a missing value.`),
    page.rows ? rowChooser(show) : null,
    make("div", {class: "split"}, make("div", {}, form, known), answer));
}

// values: feature -> its value. Returns the leaf that they lead to, and the answers on the path.
function walk(values) {
  const steps = [];
  let leaf = 0;
  while (page.nodes[leaf].left !== undefined) {
    const node = page.nodes[leaf];
    const yes = holds(node, values.get(node.feature));
    steps.push({node, yes});
    leaf = yes ? node.left : node.right;
  }
  return {leaf, steps};
}

// What an answer rests on, where that is not the values alone. asked: the features on the path.
function basis(leaf, values, asked) {
  const isNew = (feature) => news(feature, values.get(feature.index)) !== null;
  const missing = asked.filter((feature) => values.get(feature.index) === null && !isNew(feature));
  const guessed = asked.filter(isNew);
  const larger = `the branch with more training ${measure()}`;
  const names = (features) => features.map(({name}) => name).join(", ");
  const said = [
    missing.length ? `Missing: ${names(missing)}. The ${missing.length === 1 ? "question about it says" : "questions about them say"} where missing values go.` : null,
    guessed.length ? `Treated as unknown: ${names(guessed)}. Training had no such value, so the row follows ${larger} there.` : null,
  ];
  if ([...values.values()].some((value) => value !== null)) return said.filter((text) => text !== null).join(" ") || null;
  const end = `${count(leaf.rows)} of ${plural(page.nodes[0].rows, "training row")} end at this leaf.`;
  if (!missing.length) return `Nothing is known: the row follows ${larger} at every question. ${end}`;
  return ["Nothing is known.", ...said, end].filter((text) => text !== null).join(" ");
}

// The prediction, and why.
function verdict(leaf, rule, reasons, basis) {
  const name = page.classes[leaf.predicted];
  return [
    make("p", {class: "verdict"}, swatch(leaf.predicted), name),
    basis === null ? null : make("p", {id: "basis"}, basis),
    make("p", {}, `${confidence(leaf)} that reached this leaf in training are ${name}.`),
    make("h3", {}, "Why"), make("ol", {class: "path"}, reasons.map((text) => make("li", {}, text))),
    make("h3", {}, "The rule"), make("p", {}, `If ${rule.join(" and ")}, then ${name}.`),
    make("button", {type: "button", onclick: () => document.getElementById("tree").scrollIntoView()}, "Show in the tree"),
  ];
}

function hint() {
  return make("p", {class: "quiet"}, "Enter values to see the prediction.");
}

function rowChooser(show) {
  const last = page.rows.values.length;
  const input = make("input", {type: "number", min: 1, max: last, step: 1, value: 1, id: "row-number", onchange: () => go(0)});
  const go = (by) => {
    const asked = Math.round(Number(input.value)) + by;
    input.value = Math.min(last, Math.max(1, Number.isFinite(asked) ? asked : 1));
    show(input.value - 1);
  };
  return make("div", {class: "bar"},
    make("label", {for: "row-number"}, `Test row, 1 to ${count(last)}:`), input,
    make("button", {type: "button", onclick: () => go(0)}, "Show"),
    make("button", {type: "button", onclick: () => go(-1), "aria-label": "The row before"}, "‹"),
    make("button", {type: "button", onclick: () => go(1), "aria-label": "The next row"}, "›"),
    last < page.rows.total ? make("span", {class: "quiet"}, `the first ${count(last)} of ${count(page.rows.total)}`) : null);
}

// True if the test of an inner node holds; null is missing.
function holds(node, value) {
  if (value === null) return node.missing;
  if (node.test === "is missing") return false;
  if (value === Number(ANOTHER) && node.unseen) return true;
  return node.test === "in" ? node.value.includes(value) : node.test === "<=" ? value <= node.value : value === node.value;
}

// What is new about a value to the tree, or null: then training has decided where it goes.
function news(feature, value) {
  if (value === null) return feature.missing ? null : "is missing";
  return feature.kind === "category" && value === Number(ANOTHER) ? "is not among the training values" : null;
}

function reason(feature, value) {
  const what = news(feature, value);
  if (what === null) return shown(feature, value);
  const why = value === null ? "it is missing, which it never was in training" : "training did not have this value";
  return `${why}; more training ${measure()} went this way`;
}

function measure() {
  return page.weighted ? "weight" : "rows";
}

function shown(feature, value) {
  if (value === null) return "it is missing";
  if (feature.kind === "boolean") return value === 1 ? "True" : "False";
  if (feature.kind === "category") return feature.options.find(({code}) => code === value)?.text ?? "a new value";
  return String(value);
}

// An input for a feature: element, read() -> number, null if missing, undefined if it is no number; write(value).
function field(feature) {
  const input = feature.kind === "number" ? make("input", {type: "text", inputmode: "decimal", autocomplete: "off"}) : choice(feature);
  const note = feature.kind === "number" && feature.range ? make("span", {class: "note"}, `compared with ${feature.range}`) : null;
  const element = make("label", {}, make("span", {}, feature.name), input, note);
  const read = () => {
    const text = input.value.trim();
    const value = text === "" ? null : feature.kind === "number" ? number(text) : Number(text);
    input.setAttribute("aria-invalid", String(value === undefined));
    return value;
  };
  const write = (value) => {
    input.value = value === null ? "" : String(parsed(value));
    if (input.selectedIndex === -1) input.value = ANOTHER;
  };
  return {element, read, write, forgive: () => input.removeAttribute("aria-invalid"), name: feature.name};
}

function choice(feature) {
  const options = feature.kind === "boolean" ? [{code: 1, text: "True"}, {code: 0, text: "False"}] : [...feature.options, {code: ANOTHER, text: "(a new value)"}];
  return make("select", {}, make("option", {value: ""}, "(missing)"), options.map(({code, text}) => make("option", {value: code}, text)));
}

function number(text) {
  const value = Number(text.replace(/^([+-]?)inf(inity)?$/i, "$1Infinity"));
  return Number.isNaN(value) ? undefined : value;
}

// JSON has no infinities: they come as text.
function parsed(value) {
  return typeof value === "string" ? Number(value) : value;
}
