// What the report says, ready to be asked: where each pod is after any number of waves.

import type { HoldRow, MoveRow, ReportDocument, Resource } from "./document";

/** The pods of each node, node by node: those of node n are pods[first[n]] to pods[first[n + 1] - 1]. */
export interface Placement {
  first: Int32Array;
  pods: Int32Array;
}

export class Model {
  readonly nodeCount: number;
  readonly podCount: number;
  /** Waves in order; a state after `n` steps has the first n of them carried out. */
  readonly waves: number[];
  /** By pod: its position in document.moves, or -1. */
  readonly moveOf: Int32Array;
  /** By node: its position in document.held, or -1. */
  readonly holdOf: Int32Array;
  /** By pod: 1 if it holds its node. */
  readonly holds: Uint8Array;
  /** By node: 1 if a pod that was on it from the start holds it. */
  readonly isHeldOpen: Uint8Array;

  constructor(readonly document: ReportDocument) {
    const { nodes, pods, moves, held } = document;
    this.nodeCount = nodes.length;
    this.podCount = pods.name.length;
    this.waves = [...new Set(moves.map((move) => move.wave))].sort((a, b) => a - b);
    this.moveOf = new Int32Array(this.podCount).fill(-1);
    moves.forEach((move, at) => (this.moveOf[move.pod] = at));
    this.holdOf = new Int32Array(this.nodeCount).fill(-1);
    held.forEach((hold, at) => (this.holdOf[hold.node] = at));
    this.holds = this.findHolders();
    this.isHeldOpen = new Uint8Array(this.nodeCount);
    this.holds.forEach((holds, pod) => {
      if (holds && this.moveOf[pod]! < 0) this.isHeldOpen[pods.node[pod]!] = 1;
    });
  }

  get steps(): number {
    return this.waves.length;
  }

  move(pod: number): MoveRow | undefined {
    return this.document.moves[this.moveOf[pod] ?? -1];
  }

  hold(node: number): HoldRow | undefined {
    return this.document.held[this.holdOf[node] ?? -1];
  }

  /** How many waves are over once the pod has moved; Infinity: it stays. */
  stepOf(pod: number): number {
    const move = this.move(pod);
    return move ? this.waves.indexOf(move.wave) + 1 : Infinity;
  }

  /** Position of the node that the pod is on after so many waves; -1: on none. */
  nodeAt(pod: number, step: number): number {
    const move = this.move(pod);
    if (move && this.stepOf(pod) <= step) return move.to;
    if (this.document.pods.role[pod] === 2 && step >= this.steps && step > 0) return -1;
    return this.document.pods.node[pod] ?? -1;
  }

  placement(step: number): Placement {
    const where = new Int32Array(this.podCount);
    const first = new Int32Array(this.nodeCount + 1);
    for (let pod = 0; pod < this.podCount; ++pod) {
      const node = this.nodeAt(pod, step);
      where[pod] = node;
      if (node >= 0) first[node + 1]! += 1;
    }
    for (let node = 0; node < this.nodeCount; ++node) first[node + 1]! += first[node]!;
    const pods = new Int32Array(first[this.nodeCount]!);
    const next = first.slice();
    for (let pod = 0; pod < this.podCount; ++pod) {
      const node = where[pod]!;
      if (node >= 0) pods[next[node]!++] = pod;
    }
    return { first, pods };
  }

  podName(pod: number): string {
    const { namespaces, namespace, name } = this.document.pods;
    return `${namespaces[namespace[pod]!]}/${name[pod]}`;
  }

  nodeName(node: number): string {
    return this.document.nodes[node]?.name ?? "nowhere";
  }

  owner(pod: number): string {
    return this.document.pods.owners[this.document.pods.owner[pod]!] ?? "";
  }

  /** The part of what the node offers that the pod asks for, 0 or more. */
  share(pod: number, node: number, resource: Resource): number {
    const { cpu, memory } = this.document.pods;
    const allocatable = this.document.nodes[node]?.[resource][0] ?? 0;
    if (allocatable <= 0) return 0;
    const asked = resource === "cpu" ? cpu[pod]! : resource === "memory" ? memory[pod]! : 1;
    return Math.max(0, asked) / allocatable;
  }

  /** Requested share of the node before (step 0) or after all waves. */
  nodeShare(node: number, resource: Resource, isAfter: boolean): number {
    const [allocatable, before, after] = this.document.nodes[node]![resource];
    return allocatable > 0 ? (isAfter ? after : before) / allocatable : 0;
  }

  private findHolders(): Uint8Array {
    const holders = new Set(this.document.held.map((hold) => hold.pod).filter((name) => name !== ""));
    const marks = new Uint8Array(this.podCount);
    if (holders.size === 0) return marks;
    for (let pod = 0; pod < this.podCount; ++pod) marks[pod] = holders.has(this.podName(pod)) ? 1 : 0;
    return marks;
  }
}

const FATE_RANK = { freed: 0, held: 2, stays: 2, empty: 3 } as const;

/** Positions of nodes in the order in which they are drawn. */
export type Order = "fate" | "name" | "share";

export function orderNodes(model: Model, order: Order, resource: Resource): number[] {
  const nodes = Array.from({ length: model.nodeCount }, (_, node) => node);
  if (order === "name") return nodes; // the document has them by name
  const rank = (node: number): number =>
    order === "fate" ? (model.isHeldOpen[node] ? 1 : FATE_RANK[model.document.nodes[node]!.fate]) : -model.nodeShare(node, resource, true);
  return nodes.sort((a, b) => rank(a) - rank(b) || a - b);
}
