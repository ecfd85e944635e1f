// What the colours mean. Only what is in the picture stands there.

import { h } from "./dom";
import type { Model } from "./model";
import { planClass, TileClass, type ColourBy } from "./palette";
import type { Resource } from "./document";
import { RESOURCE_NAMES } from "./format";

const MEANINGS: [TileClass, string, string][] = [
  [TileClass.Empties, "empties", "leaves a node that is freed"],
  [TileClass.Room, "room", "frees capacity, or balances"],
  [TileClass.Holds, "holds", "keeps its node"],
  [TileClass.Stays, "stays", "stays"],
  [TileClass.WithNode, "with-node", "bound to its node (DaemonSet, static)"],
  [TileClass.Leaving, "leaving", "leaving already"],
];

function item(swatch: string, text: string): HTMLElement {
  return h("li", {}, h("i", { class: `ev-swatch ev-swatch-${swatch}` }), text);
}

export function legend(model: Model, by: ColourBy, resource: Resource): HTMLElement {
  const list = h("ul", { class: "ev-legend", "aria-label": "Legend" });
  const seen = new Set<TileClass>();
  for (let pod = 0; pod < model.podCount; ++pod) seen.add(planClass(model, pod));
  if (by === "plan") {
    for (const [tileClass, name, text] of MEANINGS) if (seen.has(tileClass)) list.append(item(name, text));
  } else {
    list.append(item("hues", `one colour for each ${by} (colours repeat)`));
    if (seen.has(TileClass.WithNode)) list.append(item("with-node", "DaemonSet, static"));
  }
  const fates = new Set(model.document.nodes.map((node) => node.fate));
  if (fates.has("freed")) list.append(item("freed", "node is freed"));
  if (model.isHeldOpen.includes(1)) list.append(item("held", "node is kept"));
  const unit = resource === "pods" ? "pod capacity" : RESOURCE_NAMES[resource];
  list.append(h("li", { class: "ev-note" }, `A tile's area is its share of the node's ${unit}.`));
  return list;
}
