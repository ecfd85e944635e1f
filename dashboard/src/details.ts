// What there is to say of one node or one pod.

import { RESOURCES } from "./document";
import { h } from "./dom";
import { amount, percent, plural, RESOURCE_NAMES } from "./format";
import type { Spot } from "./map_view";
import type { Model } from "./model";

export type Choose = (spot: Spot) => void;

function link(text: string, act: () => void): HTMLElement {
  const button = h("button", { type: "button", class: "ev-link" }, text);
  button.addEventListener("click", act);
  return button;
}

function facts(rows: [string, string | HTMLElement][]): HTMLElement {
  const list = h("dl", { class: "ev-facts" });
  for (const [name, value] of rows) list.append(h("dt", {}, name), h("dd", {}, value));
  return list;
}

/** What the plan does with the pod, in one sentence. */
export function fateOfPod(model: Model, pod: number): string {
  const move = model.move(pod);
  if (move) {
    const wave = move.wave > 0 ? ` in wave ${move.wave}` : "";
    return move.to < 0 ? `leaves${wave}; no node for its replacement is known` : `moves${wave} from ${model.nodeName(model.document.pods.node[pod]!)} to ${model.nodeName(move.to)}`;
  }
  if (model.document.pods.role[pod] === 1) return "is bound to its node (DaemonSet or static pod)";
  if (model.document.pods.role[pod] === 2) return "is leaving already";
  return model.holds[pod] ? "stays, and keeps its node" : "stays";
}

export function fateOfNode(model: Model, node: number): string {
  switch (model.document.nodes[node]!.fate) {
    case "freed": return "is freed: all its pods move to other nodes";
    case "held": return `stays: ${model.hold(node)?.reason ?? "held"}`;
    case "empty": return "has no pods of its own";
    case "stays": return "stays";
  }
}

export function podDetails(model: Model, pod: number, choose: Choose): HTMLElement {
  const { pods } = model.document;
  const node = pods.node[pod]!;
  const move = model.move(pod);
  const rows: [string, string | HTMLElement][] = [
    ["Namespace", pods.namespaces[pods.namespace[pod]!]!],
    ["Owner", model.owner(pod) || "none"],
    ["Requests", `${amount(pods.cpu[pod]!, "cpu")}, ${amount(pods.memory[pod]!, "memory")}`],
    ["On node", link(model.nodeName(node), () => choose({ node, pod: -1 }))],
  ];
  if (move && move.to >= 0) rows.push(["Target", link(model.nodeName(move.to), () => choose({ node: move.to, pod: -1 }))]);
  if (move && move.wave > 0) rows.push(["Wave", `${move.wave} of ${Math.max(...model.waves)}`]);
  if (move) rows.push(["Strategy", move.strategy], ["Reason", move.reason || "not reported"]);
  const hold = model.holds[pod] ? model.hold(node) : undefined;
  if (hold) rows.push(["Holds its node", `${hold.reason}: ${hold.message}`]);
  return h("div", {}, h("h3", {}, pods.name[pod]!), h("p", {}, `This pod ${fateOfPod(model, pod)}.`), facts(rows));
}

export function nodeDetails(model: Model, node: number, choose: Choose): HTMLElement {
  const row = model.document.nodes[node]!;
  const hold = model.hold(node);
  const rows: [string, string | HTMLElement][] = RESOURCES.map((resource) => {
    const [offered, before, after] = row[resource];
    const change = before === after ? amount(before, resource) : `${amount(before, resource)} → ${amount(after, resource)}`;
    const shares = before === after ? percent(model.nodeShare(node, resource, false)) : `${percent(model.nodeShare(node, resource, false))} → ${percent(model.nodeShare(node, resource, true))}`;
    return [RESOURCE_NAMES[resource], `${change} of ${amount(offered, resource)} (${shares})`];
  });
  if (hold) rows.push(["Held by", hold.pod || "no single pod"], ["Reason", `${hold.reason}: ${hold.message}`]);
  const body = h("div", {}, h("h3", {}, row.name), h("p", {}, `This node ${fateOfNode(model, node)}.`), facts(rows));
  const { moves, pods } = model.document;
  appendPods(body, model, "Leave", moves.filter((move) => pods.node[move.pod] === node).map((move) => move.pod), choose);
  appendPods(body, model, "Arrive", moves.filter((move) => move.to === node).map((move) => move.pod), choose);
  const staying: number[] = [];
  for (let pod = 0; pod < model.podCount; ++pod) if (pods.node[pod] === node && model.moveOf[pod]! < 0) staying.push(pod);
  appendPods(body, model, "Stay", staying, choose);
  return body;
}

const MOST_PODS = 60;

function appendPods(body: HTMLElement, model: Model, title: string, pods: number[], choose: Choose): void {
  if (pods.length === 0) return;
  const list = h("ul", { class: "ev-pods" });
  for (const pod of pods.slice(0, MOST_PODS)) {
    const move = model.move(pod);
    const where = !move ? "" : title === "Arrive" ? ` from ${model.nodeName(model.document.pods.node[pod]!)}` : ` to ${model.nodeName(move.to)}`;
    list.append(h("li", {}, link(model.podName(pod), () => choose({ node: model.document.pods.node[pod]!, pod })), where));
  }
  if (pods.length > MOST_PODS) list.append(h("li", {}, `and ${pods.length - MOST_PODS} more`));
  body.append(h("h4", {}, `${title}: ${plural(pods.length, "pod")}`), list);
}

/** The lines of the tooltip; the first one is its heading. */
export function tip(model: Model, spot: Spot): string[] {
  if (spot.pod < 0) {
    const shares = RESOURCES.map((resource) => `${RESOURCE_NAMES[resource]} ${percent(model.nodeShare(spot.node, resource, false))} → ${percent(model.nodeShare(spot.node, resource, true))}`);
    const hold = model.hold(spot.node);
    return [model.nodeName(spot.node), fateOfNode(model, spot.node), ...shares, ...(hold?.pod ? [`held by ${hold.pod}`] : [])];
  }
  const { cpu, memory } = model.document.pods;
  const move = model.move(spot.pod);
  const hold = model.holds[spot.pod] ? model.hold(model.document.pods.node[spot.pod]!) : undefined;
  const why = move?.reason || hold?.message;
  return [model.podName(spot.pod), fateOfPod(model, spot.pod), `${amount(cpu[spot.pod]!, "cpu")}, ${amount(memory[spot.pod]!, "memory")}`, ...(why ? [why] : [])];
}
