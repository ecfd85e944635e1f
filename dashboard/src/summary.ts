// The head of a report: what the plan does, in a few numbers.

import type { BoundRow, ReportDocument, Resource } from "./document";
import { h } from "./dom";
import { count, percent, plural, RESOURCE_NAMES } from "./format";
import type { Model } from "./model";

export function summary(model: Model): HTMLElement {
  const { document } = model;
  return h("div", { class: "ev-cards" }, freedCard(document), movesCard(model), shareCard(document, "cpu"), shareCard(document, "memory"), sizeCard(model));
}

function card(title: string, value: string, detail: string, ...more: (HTMLElement | null)[]): HTMLElement {
  return h("section", { class: "ev-card" }, h("h2", {}, title), h("p", { class: "ev-value" }, value), ...more, h("p", { class: "ev-detail" }, detail));
}

/** The strategy that could free most, when several empty nodes. */
function mainBound(document: ReportDocument): BoundRow | undefined {
  return [...document.bounds].sort((a, b) => b.most - a.most)[0];
}

function freedCard(document: ReportDocument): HTMLElement {
  const { freed, busyBefore } = document.totals;
  const bound = mainBound(document);
  if (!bound) return card("Nodes freed", count(freed), `of ${plural(busyBefore, "node")} with pods`);
  const part = bound.most > 0 ? freed / bound.most : freed > 0 ? 1 : 0;
  const meter = h("div", { class: "ev-meter", role: "meter", "aria-valuemin": 0, "aria-valuemax": Math.max(bound.most, freed), "aria-valuenow": freed, "aria-label": "freed nodes, of the possible number" }, h("span"));
  (meter.firstChild as HTMLElement).style.width = `${Math.min(part, 1) * 100}%`;
  const why = bound.reason ? `, because of ${bound.reason}` : "";
  return card("Nodes freed", `${count(freed)} of ${count(bound.most)} possible`, `${plural(bound.busy, "node")} with pods; no plan frees more${why}`, meter);
}

function movesCard(model: Model): HTMLElement {
  const { moves, totals } = model.document;
  const waves = model.waves.filter((wave) => wave > 0).length;
  const parts = [waves > 0 ? `in ${plural(waves, "wave")}` : "", totals.freed > 0 ? `${count(moves.length / totals.freed)} for each freed node` : ""];
  return card("Moves", count(moves.length), parts.filter((part) => part !== "").join(", ") || "no moves");
}

function shareCard(document: ReportDocument, resource: Resource): HTMLElement {
  const [before, after] = document.totals.busyShare[resource];
  return card(`${RESOURCE_NAMES[resource]} requested`, `${percent(before)} → ${percent(after)}`, "of allocatable on nodes with pods");
}

function sizeCard(model: Model): HTMLElement {
  const { pending } = model.document.totals;
  const wait = pending > 0 ? `; ${plural(pending, "pod waits", "pods wait")} for a node` : "";
  return card("Cluster", plural(model.nodeCount, "node"), `${plural(model.podCount, "pod")}${wait}`);
}
