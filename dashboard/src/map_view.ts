// The map: one pane, or two beside each other under one camera, and what the pointer and the keyboard do to them.

import { clamp, fit, fitScale, frame, zoom, type Camera, type Size } from "./camera";
import type { Painting } from "./painter";
import { drawMarks, type Marks, type Stage } from "./marks";
import { Pane } from "./pane";
import { BOX_HEIGHT, BOX_WIDTH, boxX, boxY, slotAt, tileAt, type Grid } from "./scene";

/** What is at a point, or chosen. */
export interface Spot {
  node: number;
  pod: number; // -1: the node itself
}

export interface MapEvents {
  hover(spot: Spot | null, x: number, y: number): void;
  choose(spot: Spot | null): void;
  /** Panes have another shape now: so wide for each pixel of height. */
  reshape(aspect: number): void;
}

const GAP = 10;
const RESTS_AFTER = 120;
const SLICE = 3;
const FIRST_SLICE = 10;
const LEAST_FIT = 0.6; // of the scale at which all is seen

export class MapView {
  readonly element = document.createElement("div");
  private readonly overlay = document.createElement("canvas");
  private panes: Pane[] = [];
  private paintings: Painting[] = [];
  private camera: Camera = { x: 0, y: 0, scale: 1 };
  private view: Size = { width: 1, height: 1 };
  private ratio = 1;
  private isFitted = true;
  private movedAt = 0;
  private frameRequest = 0;
  private needsPanes = false;
  private needsMarks = false;
  private marks: Marks = { hover: null, chosen: null, pods: [] };
  private drag: { x: number; y: number; travelled: number } | null = null;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private readonly observer = new ResizeObserver(() => {
    this.resize();
    this.events.reshape(this.aspect(this.panes.length));
  });

  constructor(private readonly events: MapEvents) {
    this.element.className = "ev-map";
    this.overlay.className = "ev-overlay";
    this.overlay.tabIndex = 0;
    this.overlay.setAttribute("role", "application");
    this.overlay.setAttribute("aria-roledescription", "cluster map");
    this.element.append(this.overlay);
    this.listen();
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frameRequest);
    this.element.remove();
  }

  get focusTarget(): HTMLElement {
    return this.overlay;
  }

  /** One painting a pane, left to right; all over one grid. */
  show(paintings: Painting[]): void {
    const isOther = this.paintings[0]?.scene.grid !== paintings[0]?.scene.grid || this.panes.length !== paintings.length;
    this.paintings = paintings;
    while (this.panes.length > paintings.length) this.panes.pop()!.canvas.remove();
    while (this.panes.length < paintings.length) {
      const pane = new Pane();
      this.panes.push(pane);
      this.element.insertBefore(pane.canvas, this.overlay);
    }
    this.panes.forEach((pane, i) => pane.show(paintings[i]!));
    if (isOther) this.resize();
    this.redraw();
  }

  mark(marks: Marks): void {
    this.marks = marks;
    this.needsMarks = true;
    this.request();
  }

  /** Width over height of a pane when there are so many. */
  aspect(panes: number): number {
    const { width, height } = this.element.getBoundingClientRect();
    return height > 0 && width > 0 ? (width - GAP * (panes - 1)) / panes / height : 1.4;
  }

  fitAll(): void {
    this.isFitted = true;
    this.camera = fit(this.grid, this.view);
    this.redraw();
  }

  zoomBy(factor: number, x = this.view.width / 2, y = this.view.height / 2): void {
    this.moveTo(zoom(this.camera, factor, x, y, fitScale(this.grid, this.view) * LEAST_FIT));
  }

  /** Brings the node to the middle if it is not in view, or too small to be read. */
  reveal(node: number): void {
    const slot = this.grid.slotOf[node];
    if (slot === undefined) return;
    const x = boxX(this.grid, slot);
    const y = boxY(this.grid, slot);
    const { camera, view } = this;
    const isSeen = x >= camera.x && y >= camera.y && x + BOX_WIDTH <= camera.x + view.width / camera.scale &&
      y + BOX_HEIGHT <= camera.y + view.height / camera.scale;
    if (isSeen && camera.scale * BOX_WIDTH > 40) return;
    this.moveTo(frame(x, y, BOX_WIDTH, BOX_HEIGHT, view, 0.3));
  }

  private get grid(): Grid {
    return this.paintings[0]?.scene.grid ?? { columns: 1, rows: 1, width: 1, height: 1, order: [], slotOf: new Int32Array(0) };
  }

  private moveTo(camera: Camera): void {
    this.isFitted = false;
    this.camera = clamp(camera, this.grid, this.view);
    this.redraw();
  }

  private redraw(): void {
    this.movedAt = performance.now();
    this.needsPanes = true;
    this.needsMarks = true;
    this.request();
  }

  private request(): void {
    if (this.frameRequest === 0) this.frameRequest = requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    this.frameRequest = 0;
    if (this.needsPanes) for (const pane of this.panes) pane.draw(this.camera);
    const wasDrawn = this.needsPanes;
    this.needsPanes = false;
    if (this.needsMarks) drawMarks(this.stage(), this.marks);
    this.needsMarks = false;
    const isResting = now - this.movedAt > RESTS_AFTER;
    if (!wasDrawn) this.work(isResting);
    if (this.needsPanes || this.panes.some((pane) => pane.hasWork(true))) this.request();
  }

  /** Panes that show nothing yet come first, and while there is one a frame may take longer. */
  private work(isResting: boolean): void {
    const isEmpty = this.panes.some((pane) => pane.isEmpty);
    const deadline = performance.now() + (isEmpty ? FIRST_SLICE : SLICE);
    for (const pane of [...this.panes].sort((a, b) => Number(b.isEmpty) - Number(a.isEmpty))) {
      if (!pane.hasWork(isResting)) continue;
      if (pane.work(this.camera, isResting, deadline)) this.needsPanes = true;
      if (performance.now() >= deadline) return;
    }
  }

  private stage(): Stage {
    return {
      context: this.overlay.getContext("2d")!,
      camera: this.camera,
      view: this.view,
      ratio: this.ratio,
      offset: this.view.width + GAP,
      paintings: this.paintings,
    };
  }

  private resize(): void {
    const { width, height } = this.element.getBoundingClientRect();
    if (width < 1 || height < 1 || this.panes.length === 0) return;
    const count = this.panes.length;
    const old = this.view;
    this.view = { width: (width - GAP * (count - 1)) / count, height };
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.panes.forEach((pane, i) => {
      pane.resize(this.view, this.ratio);
      pane.canvas.style.left = `${i * (this.view.width + GAP)}px`;
      pane.canvas.style.width = `${this.view.width}px`;
      pane.canvas.style.height = `${height}px`;
    });
    this.overlay.width = Math.round(width * this.ratio);
    this.overlay.height = Math.round(height * this.ratio);
    if (this.isFitted || old.width <= 1) this.camera = fit(this.grid, this.view);
    this.redraw();
  }

  // --- pointer and keyboard

  private listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(type: K, handle: (event: HTMLElementEventMap[K]) => void): void =>
      this.overlay.addEventListener(type, handle, { passive: false });
    on("wheel", (event) => this.onWheel(event));
    on("pointerdown", (event) => this.onDown(event));
    on("pointermove", (event) => this.onMove(event));
    on("pointerup", (event) => this.onUp(event));
    on("pointercancel", (event) => this.onCancel(event));
    on("pointerleave", () => this.events.hover(null, 0, 0));
    on("dblclick", (event) => this.onDoubleClick(event));
    on("keydown", (event) => this.onKey(event));
  }

  private local(event: { clientX: number; clientY: number }): { x: number; y: number; pane: number } {
    const box = this.overlay.getBoundingClientRect();
    const x = event.clientX - box.left;
    const pitch = this.view.width + GAP;
    const pane = Math.min(Math.floor(x / pitch), this.panes.length - 1);
    return { x: x - pane * pitch, y: event.clientY - box.top, pane };
  }

  private spotAt(event: MouseEvent): Spot | null {
    const { x, y, pane } = this.local(event);
    const scene = this.paintings[pane]?.scene;
    if (!scene || x > this.view.width) return null;
    const worldX = this.camera.x + x / this.camera.scale;
    const worldY = this.camera.y + y / this.camera.scale;
    const slot = slotAt(scene.grid, worldX, worldY);
    if (slot < 0) return null;
    const tile = tileAt(scene, worldX, worldY);
    return { node: scene.grid.order[slot]!, pod: tile < 0 ? -1 : scene.pod[tile]! };
  }

  private onWheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const { x, y } = this.local(event);
    this.zoomBy(Math.exp(-event.deltaY * lines * 0.0016), x, y);
  }

  private onDown(event: PointerEvent): void {
    this.overlay.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pointers.size === 1) this.drag = { x: event.clientX, y: event.clientY, travelled: 0 };
  }

  private onMove(event: PointerEvent): void {
    const last = this.pointers.get(event.pointerId);
    if (!last || !this.drag) {
      this.events.hover(this.spotAt(event), event.clientX, event.clientY);
      return;
    }
    if (this.pointers.size === 2) this.pinch(event, last);
    else this.pan(event.clientX - last.x, event.clientY - last.y);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  private pan(dx: number, dy: number): void {
    this.drag!.travelled += Math.abs(dx) + Math.abs(dy);
    if (this.drag!.travelled < 4) return;
    this.overlay.classList.add("ev-dragging");
    this.moveTo({ ...this.camera, x: this.camera.x - dx / this.camera.scale, y: this.camera.y - dy / this.camera.scale });
  }

  private pinch(event: PointerEvent, last: { x: number; y: number }): void {
    this.drag!.travelled = Infinity;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)![1];
    const before = Math.hypot(last.x - other.x, last.y - other.y);
    const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    const { x, y } = this.local({ clientX: (event.clientX + other.x) / 2, clientY: (event.clientY + other.y) / 2 });
    if (before > 0) this.zoomBy(after / before, x, y);
  }

  private onUp(event: PointerEvent): void {
    const wasClick = this.drag !== null && this.drag.travelled < 4 && this.pointers.size === 1;
    this.onCancel(event);
    if (wasClick) this.events.choose(this.spotAt(event));
  }

  private onCancel(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size === 0) this.drag = null;
    this.overlay.classList.remove("ev-dragging");
  }

  private onDoubleClick(event: MouseEvent): void {
    const { x, y } = this.local(event);
    this.zoomBy(event.shiftKey ? 0.5 : 2, x, y);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  private readonly keys: Record<string, () => void> = {
    ArrowLeft: () => this.step(-1),
    ArrowRight: () => this.step(1),
    ArrowUp: () => this.step(-this.grid.columns),
    ArrowDown: () => this.step(this.grid.columns),
    Home: () => this.step(-Infinity),
    End: () => this.step(Infinity),
    "+": () => this.zoomBy(1.3),
    "=": () => this.zoomBy(1.3),
    "-": () => this.zoomBy(1 / 1.3),
    "0": () => this.fitAll(),
    "[": () => this.stepPod(-1),
    "]": () => this.stepPod(1),
    Escape: () => this.events.choose(null),
  };

  /** From the chosen node to the one so many slots further. */
  private step(by: number): void {
    const { order, slotOf } = this.grid;
    if (order.length === 0) return;
    const chosen = this.marks.chosen;
    const from = chosen ? slotOf[chosen.node]! : by > 0 ? -1 : order.length;
    const to = Number.isFinite(by) ? from + (chosen ? by : Math.sign(by)) : by < 0 ? 0 : order.length - 1;
    if (to < 0 || to >= order.length) return;
    this.events.choose({ node: order[to]!, pod: -1 });
    this.reveal(order[to]!);
  }

  /** From pod to pod of the chosen node, as the last pane has them. */
  private stepPod(by: number): void {
    const chosen = this.marks.chosen;
    const painting = this.paintings[0];
    if (!chosen || !painting) return;
    const slot = this.grid.slotOf[chosen.node]!;
    const { scene } = painting;
    const begin = scene.first[slot]!;
    const count = scene.first[slot + 1]! - begin;
    if (count === 0) return;
    const at = chosen.pod < 0 ? (by > 0 ? -1 : count) : scene.tileOf[chosen.pod]! - begin;
    this.events.choose({ node: chosen.node, pod: scene.pod[begin + ((at + by + count) % count)]! });
  }
}
