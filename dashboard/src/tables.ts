// The report as tables: for those who do not see the map, and for those who want rows.

import { growingRows, h } from "./dom";
import { count, FATE_NAMES, percent, plural } from "./format";
import type { Choose } from "./details";
import type { Model } from "./model";
import type { HoldRow, MoveRow } from "./document";

function chooser(text: string, act: () => void): HTMLElement {
  const button = h("button", { type: "button", class: "ev-link" }, text);
  button.addEventListener("click", act);
  return button;
}

function table(caption: string, heads: (string | HTMLElement)[], look = ""): { table: HTMLTableElement; body: HTMLElement } {
  const row = h("tr");
  for (const head of heads) row.append(typeof head === "string" ? h("th", { scope: "col" }, head) : head);
  const body = h("tbody");
  return { table: h("table", { class: `ev-table ${look}` }, h("caption", { class: "ev-hidden" }, caption), h("thead", {}, row), body), body };
}

// --- moves by wave

export function movesByWave(model: Model, choose: Choose): HTMLElement {
  const root = h("div");
  if (model.document.moves.length === 0) root.append(h("p", { class: "ev-note" }, "No moves."));
  model.waves.forEach((wave, i) => {
    const moves = model.document.moves.filter((move) => move.wave === wave);
    root.append(waveSection(model, wave === 0 ? "Moves" : `Wave ${wave}`, moves, i === 0, choose));
  });
  return root;
}

function waveSection(model: Model, title: string, moves: MoveRow[], isOpen: boolean, choose: Choose): HTMLElement {
  const section = h("details", { class: "ev-wave", open: isOpen }, h("summary", {}, h("b", {}, title), ` ${plural(moves.length, "move")}`));
  const fill = (): void => {
    if (!section.open || section.childElementCount > 1) return;
    const { table: list, body } = table(title, ["Pod", "From → to, reason"], "ev-wide");
    section.append(list);
    growingRows(body, moves, (move) => moveRow(model, move, choose));
  };
  section.addEventListener("toggle", fill);
  fill();
  return section;
}

function moveRow(model: Model, move: MoveRow, choose: Choose): HTMLElement {
  const from = model.document.pods.node[move.pod]!;
  const kind = move.empties ? "ev-swatch-empties" : "ev-swatch-room";
  const name = h("span", { class: "ev-marked" }, h("i", { class: `ev-swatch ${kind}` }), chooser(model.podName(move.pod), () => choose({ node: from, pod: move.pod })));
  const where = h("td", {}, `${model.nodeName(from)} → ${model.nodeName(move.to)}`, h("div", { class: "ev-note" }, move.reason));
  return h("tr", {}, h("td", {}, name), where);
}

// --- what holds nodes

export function heldNodes(model: Model, choose: Choose): HTMLElement {
  const { held, nodes, bounds, refused } = model.document;
  const root = h("div");
  for (const bound of bounds) {
    const why = bound.reason ? ` The others are needed because of ${bound.reason}.` : "";
    root.append(h("p", {}, h("b", {}, bound.strategy), ` frees ${count(bound.freed)} of ${plural(bound.busy, "node")} with pods. At most ${count(bound.most)} could be freed.${why}`));
    if (bound.note) root.append(h("p", { class: "ev-note" }, bound.note));
  }
  if (bounds.length === 0) root.append(h("p", { class: "ev-note" }, "No strategy of this policy reports why nodes stay."));
  if (held.length > 0) root.append(reasonCounts(held), ...heldTable(model, choose));
  const others = nodes.filter((node) => node.fate === "stays").length;
  if (bounds.length > 0 && others > 0) root.append(h("p", { class: "ev-note" }, `${plural(others, "more node stays", "more nodes stay")} without a reported reason.`));
  if (refused.length > 0) root.append(h("h4", {}, "Refused"), countList(refused.map((row) => [row.reason, row.count])));
  return root;
}

function reasonCounts(held: HoldRow[]): HTMLElement {
  const counts = new Map<string, number>();
  for (const hold of held) counts.set(hold.reason, (counts.get(hold.reason) ?? 0) + 1);
  return countList([...counts].sort((a, b) => b[1] - a[1]));
}

function countList(rows: [string, number][]): HTMLElement {
  const most = Math.max(...rows.map((row) => row[1]));
  const list = h("ul", { class: "ev-counts" });
  for (const [name, value] of rows) {
    const bar = h("i");
    bar.style.width = `${(value / most) * 100}%`;
    list.append(h("li", {}, h("span", {}, name), h("b", {}, count(value)), bar));
  }
  return list;
}

function heldTable(model: Model, choose: Choose): HTMLElement[] {
  const { table: list, body } = table("Held nodes and reasons", ["Node, held by", "Reason"], "ev-wide");
  const root = h("div", {}, list);
  growingRows(body, model.document.held, (hold) => {
    const node = chooser(model.nodeName(hold.node), () => choose({ node: hold.node, pod: -1 }));
    return h("tr", {}, h("td", {}, node, h("div", { class: "ev-note" }, hold.pod || "no single pod")), h("td", {}, h("b", {}, hold.reason), ` ${hold.message}`));
  });
  return [root];
}

// --- nodes

type Column = "name" | "fate" | "cpu" | "memory" | "pods";

export function nodeTable(model: Model, choose: Choose): HTMLElement {
  const root = h("div");
  let by: Column = "name";
  let isDown = false;
  const sort = (column: Column): void => {
    isDown = column === by ? !isDown : column !== "name" && column !== "fate";
    by = column;
    draw();
  };
  const draw = (): void => {
    const heads = (["name", "fate", "cpu", "memory", "pods"] as const).map((column) => sortHead(column, by, isDown, sort));
    const { table: list, body } = table("Nodes before and after", heads, "ev-numbers");
    root.replaceChildren(list);
    growingRows(body, sortedNodes(model, by, isDown), (node) => nodeRow(model, node, choose), 100);
  };
  draw();
  return root;
}

const HEADS: Record<Column, string> = { name: "Node", fate: "Fate", cpu: "CPU", memory: "Memory", pods: "Pods" };

function sortHead(column: Column, by: Column, isDown: boolean, sort: (column: Column) => void): HTMLElement {
  const order = column !== by ? "none" : isDown ? "descending" : "ascending";
  const mark = column !== by ? "" : isDown ? " ↓" : " ↑";
  return h("th", { scope: "col", "aria-sort": order }, chooser(HEADS[column] + mark, () => sort(column)));
}

function sortedNodes(model: Model, by: Column, isDown: boolean): number[] {
  const key = (node: number): string | number => {
    const row = model.document.nodes[node]!;
    if (by === "name" || by === "fate") return row[by];
    return by === "pods" ? row.pods[1] : model.nodeShare(node, by, false);
  };
  const nodes = Array.from({ length: model.nodeCount }, (_, node) => node);
  const sign = isDown ? -1 : 1;
  return nodes.sort((a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : a - b));
}

function nodeRow(model: Model, node: number, choose: Choose): HTMLElement {
  const row = model.document.nodes[node]!;
  const change = (before: string, after: string): string => (before === after ? before : `${before} → ${after}`);
  const share = (resource: "cpu" | "memory"): string =>
    change(percent(model.nodeShare(node, resource, false)), percent(model.nodeShare(node, resource, true)));
  return h("tr", {}, h("td", {}, chooser(row.name, () => choose({ node, pod: -1 }))),
    h("td", {}, h("span", { class: `ev-fate ev-fate-${row.fate}` }, FATE_NAMES[row.fate])),
    h("td", {}, share("cpu")), h("td", {}, share("memory")), h("td", {}, change(count(row.pods[1]), count(row.pods[2]))));
}
