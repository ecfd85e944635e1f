// Where everything is drawn: boxes of nodes in a grid, tiles of pods in them, in world units.

import type { Resource } from "./document";
import type { Model } from "./model";
import { layStrips } from "./strips";

export const BOX_WIDTH = 120;
export const BOX_HEADER = 16;
export const BOX_BODY = 88;
export const BOX_HEIGHT = BOX_HEADER + BOX_BODY;
export const BOX_GAP = 12;
const PITCH_X = BOX_WIDTH + BOX_GAP;
const PITCH_Y = BOX_HEIGHT + BOX_GAP;
const BODY_ASPECT = BOX_WIDTH / BOX_BODY;

/** The places of boxes. Slot s holds node order[s]. */
export interface Grid {
  columns: number;
  rows: number;
  width: number;
  height: number;
  order: number[];
  slotOf: Int32Array;
}

export function makeGrid(order: number[], viewAspect: number): Grid {
  const count = Math.max(1, order.length);
  const columns = Math.min(count, Math.max(1, Math.round(Math.sqrt((count * viewAspect * PITCH_Y) / PITCH_X))));
  const rows = Math.ceil(count / columns);
  const slotOf = new Int32Array(order.length);
  order.forEach((node, slot) => (slotOf[node] = slot));
  return { columns, rows, width: columns * PITCH_X - BOX_GAP, height: rows * PITCH_Y - BOX_GAP, order, slotOf };
}

export function boxX(grid: Grid, slot: number): number {
  return (slot % grid.columns) * PITCH_X;
}

export function boxY(grid: Grid, slot: number): number {
  return Math.floor(slot / grid.columns) * PITCH_Y;
}

/** The slot whose box is at the point; -1: none. */
export function slotAt(grid: Grid, x: number, y: number): number {
  const column = Math.floor(x / PITCH_X);
  const row = Math.floor(y / PITCH_Y);
  if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) return -1;
  const slot = row * grid.columns + column;
  const isInside = x - column * PITCH_X <= BOX_WIDTH && y - row * PITCH_Y <= BOX_HEIGHT;
  return isInside && slot < grid.order.length ? slot : -1;
}

/** Columns and rows of boxes that the rectangle touches, ends excluded. */
export function slotsIn(grid: Grid, x: number, y: number, width: number, height: number) {
  return {
    left: Math.max(0, Math.floor((x + BOX_GAP) / PITCH_X)),
    right: Math.min(grid.columns, Math.floor((x + width) / PITCH_X) + 1),
    top: Math.max(0, Math.floor((y + BOX_GAP) / PITCH_Y)),
    bottom: Math.min(grid.rows, Math.floor((y + height) / PITCH_Y) + 1),
  };
}

/** Tiles slot by slot: those of slot s are first[s] to first[s + 1] - 1. World units. */
export interface Scene {
  grid: Grid;
  step: number;
  first: Int32Array;
  pod: Int32Array;
  x: Float32Array;
  y: Float32Array;
  w: Float32Array;
  h: Float32Array;
  /** By pod: its tile, or -1. */
  tileOf: Int32Array;
  /** By slot: requested share of the node. */
  share: Float32Array;
  /** By slot: 1 if the node is one that the plan frees, and is free by now. */
  isFreed: Uint8Array;
}

/** DaemonSet pods at the bottom, what stays above it, what moves on top, so that the rest is in one place at all steps. */
function tileRank(model: Model, pod: number): number {
  if (model.moveOf[pod]! >= 0) return 2;
  return model.document.pods.role[pod] === 1 ? 0 : 1;
}

export function makeScene(model: Model, grid: Grid, step: number, resource: Resource): Scene {
  const placement = model.placement(step);
  const count = placement.pods.length;
  const scene: Scene = {
    grid,
    step,
    first: new Int32Array(grid.order.length + 1),
    pod: new Int32Array(count),
    x: new Float32Array(count),
    y: new Float32Array(count),
    w: new Float32Array(count),
    h: new Float32Array(count),
    tileOf: new Int32Array(model.podCount).fill(-1),
    share: new Float32Array(grid.order.length),
    isFreed: new Uint8Array(grid.order.length),
  };
  let at = 0;
  grid.order.forEach((node, slot) => {
    const pods = Array.from(placement.pods.subarray(placement.first[node], placement.first[node + 1]));
    const share = new Map(pods.map((pod) => [pod, model.share(pod, node, resource)]));
    pods.sort((a, b) => tileRank(model, a) - tileRank(model, b) || share.get(b)! - share.get(a)! || a - b);
    at = addTiles(scene, at, slot, pods, pods.map((pod) => share.get(pod)!));
    scene.share[slot] = shareAt(model, node, step, resource, pods);
    scene.isFreed[slot] = model.document.nodes[node]!.fate === "freed" && pods.every((pod) => model.document.pods.role[pod] !== 0) ? 1 : 0;
  });
  return scene;
}

/** The report knows the beginning and the end; between them the pods are added up. */
function shareAt(model: Model, node: number, step: number, resource: Resource, pods: number[]): number {
  if (step === 0 || step === model.steps) return model.nodeShare(node, resource, step > 0);
  return pods.reduce((sum, pod) => sum + model.share(pod, node, resource), 0);
}

function addTiles(scene: Scene, begin: number, slot: number, pods: number[], shares: number[]): number {
  const strips = layStrips(shares, BODY_ASPECT);
  const left = boxX(scene.grid, slot);
  const floor = boxY(scene.grid, slot) + BOX_HEIGHT;
  pods.forEach((pod, i) => {
    const tile = begin + i;
    scene.pod[tile] = pod;
    scene.tileOf[pod] = tile;
    scene.x[tile] = left + strips.x[i]! * BOX_WIDTH;
    scene.w[tile] = strips.w[i]! * BOX_WIDTH;
    scene.h[tile] = strips.h[i]! * BOX_BODY;
    scene.y[tile] = floor - (strips.y[i]! + strips.h[i]!) * BOX_BODY;
  });
  scene.first[slot + 1] = begin + pods.length;
  return begin + pods.length;
}

/** The tile at the point; -1: none. */
export function tileAt(scene: Scene, x: number, y: number): number {
  const slot = slotAt(scene.grid, x, y);
  if (slot < 0) return -1;
  for (let tile = scene.first[slot]!; tile < scene.first[slot + 1]!; ++tile) {
    const dx = x - scene.x[tile]!;
    const dy = y - scene.y[tile]!;
    if (dx >= 0 && dx < scene.w[tile]! && dy >= 0 && dy < scene.h[tile]!) return tile;
  }
  return -1;
}
