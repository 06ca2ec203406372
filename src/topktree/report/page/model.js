// The model: features and their importances, parameters.

function modelSection() {
  const most = Math.max(...page.features.map((feature) => feature.importance), 1e-9);
  const features = [...page.features].sort((a, b) => b.importance - a.importance || a.index - b.index);
  const used = features.filter((feature) => feature.used);
  const unused = features.filter((feature) => !feature.used);
  const more = page.n_features - features.length;
  const rows = used.map((feature) => [feature.name, feature.kind, feature.missing ? "yes" : "no", make("span", {}, meter(feature.importance / most, false), ` ${percent(feature.importance)}`)]);
  return section("model", "The model",
    make("h3", {}, "Features that the tree uses"),
    used.length ? scrollBox("Features", table(["feature", "kind", "has missing values", "importance"], rows)) : make("p", {}, "None: it is a single leaf."),
    unused.length ? make("details", {}, make("summary", {}, `${plural(unused.length + more, "feature")} that it does not use`), make("p", {}, `${unused.map((feature) => feature.name).join(", ")}${more ? ` and ${count(more)} more` : ""}.`)) : null,
    make("h3", {}, "Parameters"), list(page.parameters));
}
