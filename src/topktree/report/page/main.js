// Puts the page together.

const page = JSON.parse(document.getElementById("content").textContent);

function head() {
  const figures = page.figures.map(({value, label}) => make("li", {}, make("strong", {}, value), make("span", {}, label)));
  document.getElementById("head").append(make("p", {class: "quiet"}, page.subtitle), make("ul", {class: "figures"}, figures));
}

function start() {
  head();
  const tree = treeSection();
  const parts = [tree.element, rowSection(tree), rulesSection(tree), dataSection(), searchSection(), choicesSection(), modelSection()];
  const shown = parts.filter((part) => part !== null);
  replace(document.getElementById("main"), shown);
  replace(document.getElementById("contents"), shown.map((part) =>
    make("a", {href: `#${part.id}`}, part.querySelector("h2").textContent)));
  tree.show();
}

start();
