// Draws a scene into a canvas, in steps that can be interrupted: the more pixels a box has, the more it shows.

import type { Camera, Size } from "./camera";
import { percent } from "./format";
import type { Model } from "./model";
import { TILE_CLASSES, type Palette } from "./palette";
import { BOX_HEADER, BOX_HEIGHT, BOX_WIDTH, boxX, boxY, slotsIn, type Scene } from "./scene";

export interface Painting {
  model: Model;
  scene: Scene;
  palette: Palette;
  classes: Uint8Array;
  /** By pod: 1 if it does not match what is searched for; null: nothing is searched for. */
  dimmed: Uint8Array | null;
}

/** The transform of one drawing: pixel = (world - camera origin) * camera.scale * ratio, in device pixels. */
export interface Target {
  context: CanvasRenderingContext2D;
  camera: Camera;
  view: Size;
  ratio: number;
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
/** CSS pixels of a box's width from which on its name shows. */
const NAME_FROM = 84;
const TILES_PER_STEP = 1500;
const POD_NAME_WIDTH = 54;
const POD_NAME_HEIGHT = 13;
/** Width of a letter, on average, in parts of the font's size. */
const LETTER = 0.63;
const BOLD_LETTER = 0.68;

function visibleSlots(painting: Painting, target: Target): number[] {
  const { grid } = painting.scene;
  const { camera, view } = target;
  const seen = slotsIn(grid, camera.x, camera.y, view.width / camera.scale, view.height / camera.scale);
  const slots: number[] = [];
  for (let row = seen.top; row < seen.bottom; ++row) {
    for (let column = seen.left; column < seen.right; ++column) {
      const slot = row * grid.columns + column;
      if (slot < grid.order.length) slots.push(slot);
    }
  }
  return slots;
}

/** How many tiles the camera sees. */
export function visibleTiles(painting: Painting, target: Target): number {
  const { first } = painting.scene;
  let tiles = 0;
  for (const slot of visibleSlots(painting, target)) tiles += first[slot + 1]! - first[slot]!;
  return tiles;
}

/** Draws boxes and tiles; yields after every so many tiles. The context's transform is in device pixels meanwhile. */
export function* paintBoxes(painting: Painting, target: Target): Generator<void> {
  const slots = visibleSlots(painting, target);
  for (let begin = 0; begin < slots.length; ) {
    let tiles = 0;
    let end = begin;
    while (end < slots.length && tiles < TILES_PER_STEP) {
      tiles += painting.scene.first[slots[end]! + 1]! - painting.scene.first[slots[end]!]!;
      ++end;
    }
    const part = slots.slice(begin, end);
    paintFrames(painting, target, part);
    paintTiles(painting, target, part);
    begin = end;
    if (begin < slots.length) yield;
  }
}

function paintFrames(painting: Painting, target: Target, slots: number[]): void {
  const { context, camera, ratio } = target;
  const { palette, scene } = painting;
  const scale = camera.scale * ratio;
  const hasHeader = BOX_WIDTH * camera.scale >= NAME_FROM;
  for (const slot of slots) {
    const isFreed = scene.isFreed[slot] === 1;
    const x = Math.round((boxX(scene.grid, slot) - camera.x) * scale);
    const y = Math.round((boxY(scene.grid, slot) - camera.y) * scale);
    const width = Math.round(BOX_WIDTH * scale);
    const height = Math.round(BOX_HEIGHT * scale);
    context.fillStyle = isFreed ? palette.freedFill : palette.box;
    context.fillRect(x, y, width, height);
    const line = lineOf(painting, slot);
    context.fillStyle = line.colour;
    const thick = Math.max(1, Math.min(Math.round(line.width * ratio), Math.floor(width / 16)));
    context.fillRect(x - thick, y - thick, width + 2 * thick, thick);
    context.fillRect(x - thick, y + height, width + 2 * thick, thick);
    context.fillRect(x - thick, y, thick, height);
    context.fillRect(x + width, y, thick, height);
    if (hasHeader) context.fillRect(x, y + Math.round(BOX_HEADER * scale), width, Math.max(1, Math.round(ratio / 2)));
  }
}

function lineOf(painting: Painting, slot: number): { colour: string; width: number } {
  const { palette, scene, model } = painting;
  const node = scene.grid.order[slot]!;
  if (model.document.nodes[node]!.fate === "freed") return { colour: palette.freed, width: scene.isFreed[slot] ? 2 : 1 };
  if (model.isHeldOpen[node]) return { colour: palette.held, width: 1 };
  return { colour: palette.boxLine, width: 1 };
}

function paintTiles(painting: Painting, target: Target, slots: number[]): void {
  const { scene, classes, palette, dimmed } = painting;
  const { context, camera, ratio } = target;
  const scale = camera.scale * ratio;
  const byClass: number[][] = Array.from({ length: TILE_CLASSES + 1 }, () => []);
  for (const slot of slots) {
    for (let tile = scene.first[slot]!; tile < scene.first[slot + 1]!; ++tile) {
      const pod = scene.pod[tile]!;
      byClass[dimmed && dimmed[pod] ? TILE_CLASSES : classes[pod]!]!.push(tile);
    }
  }
  byClass.forEach((tiles, tileClass) => {
    if (tiles.length === 0) return;
    context.fillStyle = palette.tiles[tileClass] ?? palette.dim;
    for (const tile of tiles) {
      const left = Math.round((scene.x[tile]! - camera.x) * scale);
      const top = Math.round((scene.y[tile]! - camera.y) * scale);
      const right = Math.round((scene.x[tile]! + scene.w[tile]! - camera.x) * scale);
      const bottom = Math.round((scene.y[tile]! + scene.h[tile]! - camera.y) * scale);
      // Neighbours are told apart by a gap as soon as there are pixels for one.
      const gapX = right - left > 3 ? 1 : 0;
      const gapY = bottom - top > 3 ? 1 : 0;
      context.fillRect(left, top, Math.max(right - left - gapX, 1), Math.max(bottom - top - gapY, 1));
    }
  });
}

/** Names of nodes and, where tiles are large enough, of pods. */
export function* paintText(painting: Painting, target: Target): Generator<void> {
  const { context, camera } = target;
  if (BOX_WIDTH * camera.scale < NAME_FROM) return;
  context.textBaseline = "middle";
  let drawn = 0;
  for (const slot of visibleSlots(painting, target)) {
    paintNodeName(painting, target, slot);
    drawn += 2;
    for (let tile = painting.scene.first[slot]!; tile < painting.scene.first[slot + 1]!; ++tile) {
      if (painting.scene.w[tile]! * camera.scale < POD_NAME_WIDTH || painting.scene.h[tile]! * camera.scale < POD_NAME_HEIGHT) continue;
      paintPodName(painting, target, tile);
      ++drawn;
    }
    if (drawn > 150) {
      drawn = 0;
      yield;
    }
  }
}

function paintNodeName(painting: Painting, target: Target, slot: number): void {
  const { context, camera, ratio } = target;
  const { model, scene, palette } = painting;
  const node = scene.grid.order[slot]!;
  const row = model.document.nodes[node]!;
  const width = BOX_WIDTH * camera.scale;
  const size = Math.min(Math.max(BOX_HEADER * camera.scale * 0.62, 9), 15);
  const y = (boxY(scene.grid, slot) + BOX_HEADER / 2 - camera.y) * camera.scale * ratio;
  const x = (boxX(scene.grid, slot) - camera.x) * camera.scale * ratio;
  context.font = `600 ${size * ratio}px ${FONT}`;
  const isFreed = scene.isFreed[slot] === 1;
  const right = isFreed ? "freed" : percent(scene.share[slot]!);
  context.textAlign = "left";
  context.fillStyle = palette.ink;
  const letter = size * BOLD_LETTER;
  context.fillText(clipFront(row.name, width - 8, letter), x + 5 * ratio, y);
  if ((row.name.length + right.length) * letter > width - 14) return;
  context.fillStyle = isFreed ? palette.freed : palette.faint;
  context.textAlign = "right";
  context.fillText(right, x + (width - 5) * ratio, y);
}

function paintPodName(painting: Painting, target: Target, tile: number): void {
  const { context, camera, ratio } = target;
  const { model, scene, palette, classes, dimmed } = painting;
  const pod = scene.pod[tile]!;
  const width = scene.w[tile]! * camera.scale;
  const height = scene.h[tile]! * camera.scale;
  const size = Math.min(Math.max(camera.scale * 7, 9), 12);
  context.font = `${size * ratio}px ${FONT}`;
  context.textAlign = "left";
  context.fillStyle = dimmed && dimmed[pod] ? palette.faint : (palette.tileInk[classes[pod]!] ?? palette.ink);
  const name = clip(model.document.pods.name[pod]!, width - 7, size);
  context.fillText(name, (scene.x[tile]! - camera.x) * camera.scale * ratio + 4 * ratio,
    (scene.y[tile]! - camera.y) * camera.scale * ratio + (height / 2) * ratio);
}

/** Names of nodes differ at their end. */
function clipFront(text: string, room: number, letter: number): string {
  const letters = Math.floor(room / letter);
  return letters >= text.length ? text : `…${text.slice(text.length - Math.max(letters - 1, 1))}`;
}

/** The text cut to about so many pixels. Measuring each would cost more than it is worth. */
function clip(text: string, room: number, size: number): string {
  const letters = Math.floor(room / (size * LETTER));
  if (letters >= text.length) return text;
  return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}

/** A rectangle around a tile or a box. */
export function outline(target: Target, x: number, y: number, width: number, height: number, colour: string, thick: number): void {
  const { context, camera, ratio } = target;
  const scale = camera.scale * ratio;
  context.strokeStyle = colour;
  context.lineWidth = thick * ratio;
  context.strokeRect((x - camera.x) * scale, (y - camera.y) * scale, width * scale, height * scale);
}

