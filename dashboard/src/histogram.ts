// Nodes by utilisation, before and after.

import type { Bins, Resource } from "./document";
import { h, svg } from "./dom";
import { count, plural, RESOURCE_NAMES } from "./format";

const WIDTH = 340;
const HEIGHT = 120;
const LEFT = 34;
const TOP = 12;
const BOTTOM = 22;

export function histogram(resource: Resource, bins: Bins): HTMLElement {
  const most = Math.max(1, ...bins.before, ...bins.after);
  // Nothing above 100 %: no bin for it.
  const shown = bins.before.at(-1) || bins.after.at(-1) ? bins.before.length : bins.before.length - 1;
  const step = (WIDTH - LEFT) / shown;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + TOP + BOTTOM}`, role: "img", "aria-label": describe(resource, bins), class: "ev-histogram" });
  for (const part of [0, 0.5, 1]) picture.append(...gridLine(part, most));
  for (let i = 0; i < shown; ++i) {
    picture.append(bar("before", bins.before[i]!, most, LEFT + i * step + step * 0.12, step * 0.37, title(i, bins.before[i]!, "before")));
    picture.append(bar("after", bins.after[i]!, most, LEFT + i * step + step * 0.51, step * 0.37, title(i, bins.after[i]!, "after")));
  }
  for (let i = 0; i <= 10; i += 2) picture.append(label(`${i * 10} %`, LEFT + i * step, TOP + HEIGHT + 15, i === 0 ? "start" : i === 10 && shown === 10 ? "end" : "middle"));
  return h("figure", { class: "ev-figure" }, h("figcaption", {}, resource === "pods" ? "Pods, of pod capacity" : `${RESOURCE_NAMES[resource]} requests`), picture);
}

function gridLine(part: number, most: number): SVGElement[] {
  const y = TOP + HEIGHT * (1 - part);
  const value = most * part;
  const line = svg("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: "ev-grid" });
  return Number.isInteger(value) ? [line, label(count(value), LEFT - 6, y + 4, "end")] : [line];
}

function bar(when: string, value: number, most: number, x: number, width: number, text: string): SVGElement {
  const height = (value / most) * HEIGHT;
  return svg("rect", { x, y: TOP + HEIGHT - height, width, height, class: `ev-bar-${when}` }, svg("title", {}, text));
}

function label(text: string, x: number, y: number, anchor: string): SVGElement {
  return svg("text", { x, y, "text-anchor": anchor }, text);
}

function range(bin: number): string {
  return bin >= 10 ? "above 100 %" : `${bin * 10} to ${bin * 10 + 10} %`;
}

function title(bin: number, value: number, when: string): string {
  return `${plural(value, "node")} at ${range(bin)} ${when}`;
}

function describe(resource: Resource, bins: Bins): string {
  const parts = bins.before.map((before, i) => (before || bins.after[i] ? `${range(i)}: ${before} before, ${bins.after[i]} after` : ""));
  return `Nodes by requested ${RESOURCE_NAMES[resource]}. ${parts.filter((part) => part !== "").join("; ")}`;
}

export function histograms(all: Record<Resource, Bins>): HTMLElement {
  const legend = h("p", { class: "ev-key" }, h("i", { class: "ev-swatch ev-swatch-before" }), "before", h("i", { class: "ev-swatch ev-swatch-after" }), "after", h("span", { class: "ev-note" }, "number of nodes at each utilisation"));
  return h("div", {}, legend, histogram("cpu", all.cpu), histogram("memory", all.memory), histogram("pods", all.pods));
}
