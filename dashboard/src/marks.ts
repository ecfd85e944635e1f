// What is drawn over the map: the outline of what is pointed at or chosen, and where pods go.

import type { Camera, Size } from "./camera";
import { outline, type Painting, type Target } from "./painter";
import { BOX_HEIGHT, BOX_WIDTH, boxX, boxY } from "./scene";

export interface Marks {
  hover: { node: number; pod: number } | null;
  chosen: { node: number; pod: number } | null;
  /** Pods to outline, such as those of a wave. */
  pods: number[];
}

export interface Stage {
  context: CanvasRenderingContext2D;
  camera: Camera;
  view: Size; // of one pane
  ratio: number;
  offset: number; // from one pane to the next, CSS pixels
  paintings: Painting[];
}

/** More arrows than these are a tangle. */
const MOST_ARROWS = 60;

export function drawMarks(stage: Stage, marks: Marks): void {
  const { context } = stage;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  if (stage.paintings.length === 0) return;
  stage.paintings.forEach((painting, pane) => inPane(stage, pane, (target) => outlineAll(target, painting, marks)));
  const subject = marks.hover ?? marks.chosen;
  if (!subject) return;
  const arrows = subject.pod >= 0 ? [subject.pod] : movesOfNode(stage.paintings[0]!, subject.node);
  for (const pod of arrows.slice(0, MOST_ARROWS)) drawArrow(stage, pod);
}

function inPane(stage: Stage, pane: number, draw: (target: Target) => void): void {
  const { context, ratio, view, camera } = stage;
  context.save();
  context.translate(pane * stage.offset * ratio, 0);
  context.beginPath();
  context.rect(0, 0, view.width * ratio, view.height * ratio);
  context.clip();
  draw({ context, camera, view, ratio });
  context.restore();
}

function outlineAll(target: Target, painting: Painting, marks: Marks): void {
  const { palette } = painting;
  for (const pod of marks.pods) outlinePod(target, painting, pod, palette.ink, 1.5);
  for (const [spot, thick] of [[marks.hover, 2], [marks.chosen, 3]] as const) {
    if (!spot) continue;
    if (spot.pod >= 0) outlinePod(target, painting, spot.pod, palette.accent, thick);
    else outlineNode(target, painting, spot.node, palette.accent, thick);
  }
}

function outlinePod(target: Target, painting: Painting, pod: number, colour: string, thick: number): void {
  const { scene } = painting;
  const tile = scene.tileOf[pod]!;
  if (tile >= 0) outline(target, scene.x[tile]!, scene.y[tile]!, scene.w[tile]!, scene.h[tile]!, colour, thick);
}

function outlineNode(target: Target, painting: Painting, node: number, colour: string, thick: number): void {
  const { grid } = painting.scene;
  const slot = grid.slotOf[node]!;
  outline(target, boxX(grid, slot) - 2, boxY(grid, slot) - 2, BOX_WIDTH + 4, BOX_HEIGHT + 4, colour, thick);
}

function movesOfNode(painting: Painting, node: number): number[] {
  const { document } = painting.model;
  return document.moves.filter((move) => move.to === node || document.pods.node[move.pod] === node).map((move) => move.pod);
}

/** The middle of the pod's tile in the pane, if it is on that node there; else of the node's box. CSS pixels. */
function middleOf(stage: Stage, pane: number, pod: number, node: number): { x: number; y: number } {
  const { scene } = stage.paintings[pane]!;
  const { camera } = stage;
  const slot = scene.grid.slotOf[node]!;
  const tile = scene.tileOf[pod]!;
  const isHere = tile >= scene.first[slot]! && tile < scene.first[slot + 1]!;
  const x = isHere ? scene.x[tile]! + scene.w[tile]! / 2 : boxX(scene.grid, slot) + BOX_WIDTH / 2;
  const y = isHere ? scene.y[tile]! + scene.h[tile]! / 2 : boxY(scene.grid, slot) + BOX_HEIGHT / 2;
  return { x: pane * stage.offset + (x - camera.x) * camera.scale, y: (y - camera.y) * camera.scale };
}

function drawArrow(stage: Stage, pod: number): void {
  const { model, palette } = stage.paintings[0]!;
  const move = model.move(pod);
  if (!move || move.to < 0) return;
  const from = middleOf(stage, 0, pod, model.document.pods.node[pod]!);
  const to = middleOf(stage, stage.paintings.length - 1, pod, move.to);
  const bend = Math.min(Math.hypot(to.x - from.x, to.y - from.y) * 0.25, 120);
  const { context, ratio } = stage;
  context.save();
  context.scale(ratio, ratio);
  for (const [colour, width] of [[palette.page, 5], [palette.accent, 2]] as const) {
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.quadraticCurveTo((from.x + to.x) / 2, Math.min(from.y, to.y) - bend, to.x, to.y);
    context.stroke();
    arrowHead(context, (from.x + to.x) / 2, Math.min(from.y, to.y) - bend, to.x, to.y, width + 5);
  }
  context.restore();
}

function arrowHead(context: CanvasRenderingContext2D, fromX: number, fromY: number, x: number, y: number, size: number): void {
  const angle = Math.atan2(y - fromY, x - fromX);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size * 1.4 * Math.cos(angle - 0.45), y - size * 1.4 * Math.sin(angle - 0.45));
  context.lineTo(x - size * 1.4 * Math.cos(angle + 0.45), y - size * 1.4 * Math.sin(angle + 0.45));
  context.fill();
}
