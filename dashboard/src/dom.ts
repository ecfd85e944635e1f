// Elements without markup: text is always text.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;
type Child = Node | string | null | undefined | false;

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  for (const child of children) if (child) element.append(child);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  for (const child of children) if (child) element.append(child);
  return element;
}

export interface Choice<T extends string> {
  value: T;
  label: string;
  title?: string;
}

/** A row of buttons of which one is pressed. */
export function segments<T extends string>(label: string, choices: Choice<T>[], chosen: T, choose: (value: T) => void): HTMLElement {
  const group = h("div", { class: "ev-segments", role: "group", "aria-label": label });
  for (const choice of choices) {
    const button = h("button", { type: "button", title: choice.title, "aria-pressed": String(choice.value === chosen) }, choice.label);
    button.addEventListener("click", () => {
      for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
      choose(choice.value);
    });
    group.append(button);
  }
  return group;
}

export function select<T extends string>(label: string, choices: Choice<T>[], chosen: T, choose: (value: T) => void): HTMLElement {
  const list = h("select", { "aria-label": label });
  for (const choice of choices) list.append(h("option", { value: choice.value, selected: choice.value === chosen }, choice.label));
  list.addEventListener("change", () => choose(list.value as T));
  return h("label", { class: "ev-field" }, h("span", {}, label), list);
}

/** Rows of a long table, so many at a time, with a button for more. */
export function growingRows<T>(body: HTMLElement, rows: readonly T[], make: (row: T) => HTMLElement, most = 200): void {
  let shown = 0;
  const more = h("button", { type: "button", class: "ev-more" });
  const add = (): void => {
    const end = Math.min(shown + most, rows.length);
    for (; shown < end; ++shown) body.append(make(rows[shown]!));
    more.textContent = `Show ${Math.min(most, rows.length - shown)} more of ${rows.length - shown}`;
    more.hidden = shown >= rows.length;
  };
  more.addEventListener("click", add);
  add();
  body.closest("table")?.after(more);
}
