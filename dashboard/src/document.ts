// The document that `evacuator simulate --report` embeds (planner/report/report_json.cpp writes it).

export const FORMAT = 1;

export type Fate = "empty" | "freed" | "held" | "stays";
export type Resource = "cpu" | "memory" | "pods";
export const RESOURCES: readonly Resource[] = ["cpu", "memory", "pods"];

/** Requested of what a node offers: cpu in thousandths of a core, memory in bytes. */
export type Amount = [allocatable: number, before: number, after: number];

export interface NodeRow {
  name: string;
  fate: Fate;
  cpu: Amount;
  memory: Amount;
  pods: Amount;
}

/** What a pod is to the plan: 0 ordinary, 1 goes with its node (DaemonSet, static), 2 on its way already. */
export type Role = 0 | 1 | 2;

/** One array a column, all of one length. `node` is a position in `nodes`. */
export interface PodColumns {
  namespaces: string[];
  owners: string[];
  name: string[];
  namespace: number[];
  owner: number[];
  node: number[];
  role: Role[];
  cpu: number[];
  memory: number[];
}

export interface MoveRow {
  pod: number;
  to: number; // -1: nowhere fits
  wave: number; // 0: the strategy plans no waves
  empties: boolean;
  strategy: string;
  reason: string;
}

export interface BoundRow {
  strategy: string;
  busy: number;
  freed: number;
  most: number;
  reason: string;
  note: string;
}

export interface HoldRow {
  node: number;
  pod: string; // "namespace/name"; "": no single pod
  reason: string;
  message: string;
}

export interface Bins {
  before: number[];
  after: number[];
}

export interface ReportDocument {
  format: number;
  version: string;
  policy: string;
  now: string;
  totals: {
    busyBefore: number;
    busyAfter: number;
    freed: number;
    pending: number;
    busyShare: Record<Resource, [before: number, after: number]>;
    histograms: Record<Resource, Bins>;
  };
  nodes: NodeRow[];
  pods: PodColumns;
  moves: MoveRow[];
  bounds: BoundRow[];
  held: HoldRow[];
  refused: { reason: string; count: number }[];
  warnings: string[];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function everyIndex(list: unknown, below: number, least: number): boolean {
  return Array.isArray(list) && list.every((each) => Number.isInteger(each) && each >= least && each < below);
}

/** Throws an Error that says what is wrong with the document. */
export function parseDocument(value: unknown): ReportDocument {
  if (!isObject(value)) throw new Error("the report is no JSON object");
  if (value.format !== FORMAT) throw new Error(`the report has format ${String(value.format)}; this viewer draws ${FORMAT}`);
  const document = value as unknown as ReportDocument;
  for (const list of ["nodes", "moves", "bounds", "held", "refused", "warnings"] as const)
    if (!Array.isArray(document[list])) throw new Error(`the report's ${list} are no list`);
  if (!isObject(document.totals) || !isObject(document.pods)) throw new Error("the report has no totals or no pods");
  checkPods(document.pods, document.nodes.length);
  const podCount = document.pods.name.length;
  if (!everyIndex(document.moves.map((move) => move.pod), podCount, 0)) throw new Error("a move is of no pod");
  if (!everyIndex(document.moves.map((move) => move.to), document.nodes.length, -1)) throw new Error("a move goes to no node");
  if (!everyIndex(document.held.map((hold) => hold.node), document.nodes.length, 0)) throw new Error("what is held is no node");
  return document;
}

function checkPods(pods: PodColumns, nodeCount: number): void {
  for (const column of ["namespace", "owner", "node", "role", "cpu", "memory"] as const)
    if (pods[column]?.length !== pods.name?.length) throw new Error(`the report's column ${column} has another length`);
  if (!everyIndex(pods.namespace, pods.namespaces.length, 0)) throw new Error("a pod is in no namespace");
  if (!everyIndex(pods.owner, pods.owners.length, 0)) throw new Error("a pod has an unknown owner");
  if (!everyIndex(pods.node, nodeCount, 0)) throw new Error("a pod is on no node");
}
