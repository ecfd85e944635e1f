// The viewer of one report. mount(element, document) puts it into a page; the page needs viewer.css beside it.

import { parseDocument, type Resource } from "./document";
import { fateOfNode, fateOfPod, nodeDetails, podDetails, tip } from "./details";
import { h, segments, select } from "./dom";
import { plural } from "./format";
import { histograms } from "./histogram";
import { legend } from "./legend";
import { MapView, type Spot } from "./map_view";
import { Model, orderNodes, type Order } from "./model";
import { classify, readPalette, type ColourBy } from "./palette";
import type { Painting } from "./painter";
import { makeGrid, makeScene, type Grid } from "./scene";
import { search, type Found } from "./search";
import { summary } from "./summary";
import { heldNodes, movesByWave, nodeTable } from "./tables";
import { Tabs } from "./tabs";

export interface Viewer {
  /** Takes everything out of the element again. */
  destroy(): void;
}

type Mode = "both" | "waves";

class ReportViewer implements Viewer {
  private readonly model: Model;
  private mode: Mode = "both";
  private step = 0;
  private resource: Resource = "cpu";
  private colourBy: ColourBy = "plan";
  private order: Order = "fate";
  private found: Found | null = null;
  private chosen: Spot | null = null;
  private hovered: Spot | null = null;
  private grid: Grid | null = null;
  private readonly map: MapView;
  private readonly tabs: Tabs;
  private readonly tooltip = h("div", { class: "ev-tip", role: "tooltip", hidden: true });
  private readonly live = h("div", { class: "ev-hidden", "aria-live": "polite" });
  private readonly heads = h("div", { "aria-hidden": "true" });
  private readonly legend = h("div");
  private readonly foundText = h("span", { class: "ev-note", "aria-live": "polite" });
  private readonly slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Waves carried out" });
  private readonly sliderText = h("output", {});
  private readonly sliderField: HTMLElement;
  private readonly darkness = window.matchMedia("(prefers-color-scheme: dark)");
  /// The reader's, or the page's; else the system's counts.
  private theme: string | undefined;
  private readonly given: string | undefined;
  private readonly onTheme = (): void => this.applyTheme();

  constructor(private readonly root: HTMLElement, data: unknown) {
    this.model = new Model(parseDocument(data));
    this.map = new MapView({ hover: (spot, x, y) => this.hover(spot, x, y), choose: (spot) => this.choose(spot), reshape: (aspect) => this.reshape(aspect) });
    this.sliderField = h("div", { class: "ev-slider", hidden: true }, this.slider, this.sliderText);
    this.tabs = this.makeTabs();
    root.classList.add("ev-root");
    this.given = root.dataset.theme;
    this.theme = this.given === "light" || this.given === "dark" ? this.given : undefined;
    root.dataset.theme = this.themeInForce();
    root.append(this.header(), this.main(), this.tooltip, this.live);
    this.darkness.addEventListener("change", this.onTheme);
    this.relayout();
  }

  destroy(): void {
    this.darkness.removeEventListener("change", this.onTheme);
    this.map.destroy();
    this.root.replaceChildren();
    this.root.classList.remove("ev-root");
    if (this.given === undefined) delete this.root.dataset.theme;
    else this.root.dataset.theme = this.given;
  }

  // --- what there is

  private header(): HTMLElement {
    const { policy, now, version, warnings } = this.model.document;
    const title = h("div", { class: "ev-title" }, h("h1", {}, `Policy ${policy}`), h("p", { class: "ev-note" }, `plan for the cluster of ${now} · evacuator ${version} · simulation only`), this.themeButton());
    const list = warnings.length > 0 ? h("details", { class: "ev-warnings" }, h("summary", {}, plural(warnings.length, "warning")), h("ul", {}, ...warnings.map((text) => h("li", {}, text)))) : null;
    return h("header", {}, title, summary(this.model), list);
  }

  private themeButton(): HTMLElement {
    const button = h("button", { type: "button", class: "ev-theme", title: "Switch between light and dark" }, "◐ theme");
    button.addEventListener("click", () => {
      this.theme = this.themeInForce() === "dark" ? "light" : "dark";
      this.applyTheme();
    });
    return button;
  }

  private themeInForce(): string {
    return this.theme ?? (this.darkness.matches ? "dark" : "light");
  }

  private applyTheme(): void {
    this.root.dataset.theme = this.themeInForce();
    this.redraw();
  }

  private main(): HTMLElement {
    const help = h("p", { class: "ev-hidden", id: "ev-help" }, "Arrow keys select nodes, square brackets select pods of a node, plus and minus zoom, 0 shows all nodes, Escape clears the selection. The tabs beside the map have the same data as tables.");
    this.map.focusTarget.setAttribute("aria-label", this.description());
    this.map.focusTarget.setAttribute("aria-describedby", "ev-help");
    const view = h("section", { class: "ev-view", "aria-label": "Map of the cluster" }, this.toolbar(), h("div", { class: "ev-heads" }, this.heads, this.zoomButtons()), this.map.element, this.legend, help);
    return h("main", {}, view, h("aside", { "aria-label": "Details and tables" }, this.tabs.element));
  }

  private description(): string {
    const { freed } = this.model.document.totals;
    return `${plural(this.model.nodeCount, "node")} with ${plural(this.model.podCount, "pod")}, before and after ${plural(this.model.document.moves.length, "move")}; ${plural(freed, "node is", "nodes are")} freed`;
  }

  private toolbar(): HTMLElement {
    const bar = h("div", { class: "ev-toolbar", role: "toolbar", "aria-label": "View" });
    bar.append(segments<Mode>("Mode", [{ value: "both", label: "Before | after" }, { value: "waves", label: "Wave by wave" }], this.mode, (mode) => this.setMode(mode)));
    this.slider.max = String(this.model.steps);
    this.slider.addEventListener("input", () => this.setStep(Number(this.slider.value)));
    bar.append(this.sliderField);
    bar.append(select<Resource>("Size by", [{ value: "cpu", label: "CPU" }, { value: "memory", label: "Memory" }, { value: "pods", label: "Pods" }], this.resource, (resource) => this.change(() => (this.resource = resource))));
    bar.append(select<ColourBy>("Colour by", [{ value: "plan", label: "Plan" }, { value: "namespace", label: "Namespace" }, { value: "workload", label: "Workload" }], this.colourBy, (by) => this.change(() => (this.colourBy = by))));
    bar.append(select<Order>("Order", [{ value: "fate", label: "Fate" }, { value: "name", label: "Name" }, { value: "share", label: "Fullest first" }], this.order, (order) => this.change(() => (this.order = order))));
    bar.append(this.searchField());
    return bar;
  }

  private searchField(): HTMLElement {
    const field = h("input", { type: "search", placeholder: "pod, owner, node", "aria-label": "Search pods, owners and nodes", maxlength: 253 });
    field.addEventListener("input", () => {
      this.found = search(this.model, field.value);
      this.foundText.textContent = this.found ? plural(this.found.pods, "pod") : "";
      this.redraw();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.found && this.found.firstNode >= 0) this.choose({ node: this.found.firstNode, pod: -1 }, true);
    });
    return h("label", { class: "ev-field ev-search" }, h("span", {}, "Find"), field, this.foundText);
  }

  private zoomButtons(): HTMLElement {
    const button = (text: string, title: string, act: () => void): HTMLElement => {
      const element = h("button", { type: "button", title, "aria-label": title }, text);
      element.addEventListener("click", act);
      return element;
    };
    return h("div", { class: "ev-segments ev-zoom", role: "group", "aria-label": "Zoom" }, button("−", "Zoom out", () => this.map.zoomBy(1 / 1.5)), button("+", "Zoom in", () => this.map.zoomBy(1.5)), button("All", "Show all", () => this.map.fitAll()));
  }

  private makeTabs(): Tabs {
    const choose = (spot: Spot): void => this.choose(spot, true);
    return new Tabs("Details and tables", [
      { id: "moves", label: "Moves", make: () => movesByWave(this.model, choose) },
      { id: "chosen", label: "Selection", make: () => h("div", {}, h("p", { class: "ev-note" }, "Select a node or a pod on the map or in a table.")) },
      { id: "use", label: "Utilisation", make: () => histograms(this.model.document.totals.histograms) },
      { id: "held", label: "Held nodes", make: () => heldNodes(this.model, choose) },
      { id: "nodes", label: "Nodes", make: () => nodeTable(this.model, choose) },
    ]);
  }

  // --- what happens

  private change(set: () => void): void {
    set();
    this.relayout();
  }

  private setMode(mode: Mode): void {
    this.mode = mode;
    this.sliderField.hidden = mode === "both";
    this.setStep(0);
    this.relayout();
  }

  private setStep(step: number): void {
    this.step = step;
    this.slider.value = String(step);
    this.sliderText.textContent = `${step} of ${this.model.steps}`;
    this.slider.setAttribute("aria-valuetext", this.stepName());
    this.redraw();
  }

  private stepName(): string {
    const wave = this.model.waves[this.step - 1];
    if (this.step === 0) return "Before";
    const moves = wave === undefined ? 0 : this.model.document.moves.filter((move) => move.wave === wave).length;
    return wave ? `After wave ${wave} of ${this.model.waves.at(-1)}: ${plural(moves, "move")}, outlined` : "After";
  }

  private relayout(): void {
    this.grid = makeGrid(orderNodes(this.model, this.order, this.resource), this.map.aspect(this.mode === "both" ? 2 : 1));
    this.legend.replaceChildren(legend(this.model, this.colourBy, this.resource));
    this.redraw();
  }

  /** Boxes are laid out anew when another number of them fits beside each other. */
  private reshape(aspect: number): void {
    if (this.grid && makeGrid(this.grid.order, aspect).columns !== this.grid.columns) this.relayout();
  }

  private redraw(): void {
    if (!this.grid) return;
    const heads = this.mode === "both" ? ["Before", "After"] : [this.stepName()];
    this.heads.replaceChildren(...heads.map((text) => h("span", {}, text)));
    const last = this.model.steps;
    this.map.show(this.mode === "both" ? [this.painting(0), this.painting(last)] : [this.painting(this.step)]);
    this.mark();
  }

  private painting(step: number): Painting {
    return {
      model: this.model,
      scene: makeScene(this.model, this.grid!, step, this.resource),
      palette: readPalette(this.root),
      classes: classify(this.model, this.colourBy),
      dimmed: this.found?.dimmed ?? null,
    };
  }

  private mark(): void {
    const wave = this.mode === "waves" ? this.model.waves[this.step - 1] : undefined;
    const pods = wave === undefined ? [] : this.model.document.moves.filter((move) => move.wave === wave).map((move) => move.pod);
    this.map.mark({ hover: this.hovered, chosen: this.chosen, pods });
  }

  private hover(spot: Spot | null, x: number, y: number): void {
    const isOther = spot?.node !== this.hovered?.node || spot?.pod !== this.hovered?.pod;
    this.hovered = spot;
    this.tooltip.hidden = spot === null;
    if (spot && isOther) this.tooltip.replaceChildren(...tip(this.model, spot).map((line, i) => h(i === 0 ? "b" : "span", {}, line)));
    if (spot) this.placeTip(x, y);
    if (isOther) this.mark();
  }

  /** Beside the pointer, and inside the window. */
  private placeTip(x: number, y: number): void {
    const { offsetWidth: width, offsetHeight: height } = this.tooltip;
    const left = x + 14 + width > window.innerWidth ? x - 14 - width : x + 14;
    const top = y + 14 + height > window.innerHeight ? y - 14 - height : y + 14;
    this.tooltip.style.left = `${Math.max(4, left)}px`;
    this.tooltip.style.top = `${Math.max(4, top)}px`;
  }

  private choose(spot: Spot | null, shouldReveal = false): void {
    this.chosen = spot;
    this.mark();
    const panel = this.tabs.panel("chosen");
    if (!spot) {
      panel.replaceChildren(h("p", { class: "ev-note" }, "Select a node or a pod on the map or in a table."));
      return;
    }
    const choose = (next: Spot): void => this.choose(next, true);
    this.tabs.open("chosen");
    panel.replaceChildren(spot.pod < 0 ? nodeDetails(this.model, spot.node, choose) : podDetails(this.model, spot.pod, choose));
    this.live.textContent = spot.pod < 0 ? `Node ${this.model.nodeName(spot.node)}, ${fateOfNode(this.model, spot.node)}` : `Pod ${this.model.podName(spot.pod)}, ${fateOfPod(this.model, spot.pod)}`;
    if (shouldReveal) this.map.reveal(spot.node);
  }
}

/**
 * Draws the report in the element, which should have a height. `data`: the document of `evacuator simulate --report`,
 * parsed. A document that cannot be drawn leaves a message in the element.
 */
export function mount(element: HTMLElement, data: unknown): Viewer {
  try {
    return new ReportViewer(element, data);
  } catch (error) {
    element.replaceChildren(h("p", { class: "ev-error", role: "alert" }, `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`));
    return { destroy: () => element.replaceChildren() };
  }
}
