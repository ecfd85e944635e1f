// Colours: CSS says them (viewer.css), here they are read for the canvas.

import type { Model } from "./model";

/** Classes of tiles. The first ones mean what the plan does with the pod; the others are hues for names. */
export enum TileClass {
  Stays,
  WithNode,
  Leaving,
  Empties,
  Room,
  Holds,
  FirstHue,
}
export const HUES = 10;
export const TILE_CLASSES = TileClass.FirstHue + HUES;

export interface Palette {
  tiles: string[];
  tileInk: string[];
  page: string;
  box: string;
  boxLine: string;
  ink: string;
  faint: string;
  accent: string;
  freed: string;
  freedFill: string;
  held: string;
  dim: string;
}

const TILE_NAMES = ["stays", "with-node", "leaving", "empties", "room", "holds"];

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--ev-${name}`).trim() || "#888888";
  const hues = Array.from({ length: HUES }, (_, i) => `hue-${i}`);
  const names = [...TILE_NAMES, ...hues];
  return {
    tiles: names.map((name) => colour(`tile-${name}`)),
    tileInk: names.map((name) => colour(TILE_NAMES.includes(name) ? `ink-${name}` : "ink-hue")),
    page: colour("map"),
    box: colour("box"),
    boxLine: colour("box-line"),
    ink: colour("ink"),
    faint: colour("faint"),
    accent: colour("accent"),
    freed: colour("freed"),
    freedFill: colour("freed-fill"),
    held: colour("tile-holds"),
    dim: colour("dim"),
  };
}

export type ColourBy = "plan" | "namespace" | "workload";

/** By pod: its TileClass. */
export function classify(model: Model, by: ColourBy): Uint8Array {
  const classes = new Uint8Array(model.podCount);
  for (let pod = 0; pod < model.podCount; ++pod) classes[pod] = by === "plan" ? planClass(model, pod) : hueClass(model, pod, by);
  return classes;
}

export function planClass(model: Model, pod: number): TileClass {
  const move = model.move(pod);
  if (move) return move.empties ? TileClass.Empties : TileClass.Room;
  const role = model.document.pods.role[pod];
  if (role === 1) return TileClass.WithNode;
  if (role === 2) return TileClass.Leaving;
  return model.holds[pod] ? TileClass.Holds : TileClass.Stays;
}

function hueClass(model: Model, pod: number, by: "namespace" | "workload"): TileClass {
  const { namespaces, namespace, role } = model.document.pods;
  if (role[pod] === 1) return TileClass.WithNode;
  const name = namespaces[namespace[pod]!]!;
  return TileClass.FirstHue + (hash(by === "namespace" ? name : `${name}/${model.owner(pod)}`) % HUES);
}

/** FNV-1a: the same name has the same colour in every report. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
