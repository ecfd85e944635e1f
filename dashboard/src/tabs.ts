// A tab list by the ARIA pattern: arrow keys choose, one tab stop.

import { h } from "./dom";

export interface Tab {
  id: string;
  label: string;
  /** Made when first shown. */
  make: () => HTMLElement;
}

let lists = 0;

export class Tabs {
  readonly element = h("div", { class: "ev-tabs" });
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly panels: HTMLElement[] = [];
  private readonly isMade: boolean[] = [];

  constructor(label: string, private readonly tabs: Tab[]) {
    const prefix = `ev-tabs-${++lists}`;
    const bar = h("div", { class: "ev-tab-bar", role: "tablist", "aria-label": label });
    tabs.forEach((tab, i) => {
      const button = h("button", { type: "button", role: "tab", id: `${prefix}-${tab.id}`, "aria-controls": `${prefix}-${tab.id}-panel` }, tab.label);
      button.addEventListener("click", () => this.show(i));
      button.addEventListener("keydown", (event) => this.onKey(event, i));
      bar.append(button);
      this.buttons.push(button);
      this.panels.push(h("div", { class: "ev-panel", role: "tabpanel", id: `${prefix}-${tab.id}-panel`, "aria-labelledby": `${prefix}-${tab.id}`, tabindex: 0 }));
    });
    this.element.append(bar, ...this.panels);
    this.show(0);
  }

  panel(id: string): HTMLElement {
    return this.panels[this.tabs.findIndex((tab) => tab.id === id)]!;
  }

  open(id: string): void {
    this.show(this.tabs.findIndex((tab) => tab.id === id));
  }

  private show(chosen: number): void {
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === chosen));
      button.tabIndex = i === chosen ? 0 : -1;
      this.panels[i]!.hidden = i !== chosen;
    });
    if (this.isMade[chosen]) return;
    this.isMade[chosen] = true;
    this.panels[chosen]!.append(this.tabs[chosen]!.make());
  }

  private onKey(event: KeyboardEvent, at: number): void {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = (at + by + this.buttons.length) % this.buttons.length;
    this.show(next);
    this.buttons[next]!.focus();
  }
}
