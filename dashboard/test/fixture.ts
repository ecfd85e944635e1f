// Documents for tests: as `evacuator simulate --report x.json` writes them.

import type { Amount, ReportDocument } from "../src/document";

const amount = (allocatable: number, before: number, after: number): Amount => [allocatable, before, after];
const bins = (): number[] => Array.from({ length: 11 }, () => 0);

/** n1 is full, n2 is freed, n3 is held, n4 has its DaemonSet pod only; two waves. */
export function swap(): ReportDocument {
  const node = (name: string, fate: "empty" | "freed" | "held" | "stays", before: number, after: number) => ({
    name, fate, cpu: amount(4000, before, after), memory: amount(4000, before, after), pods: amount(10, 2, 2),
  });
  return {
    format: 1,
    version: "0.1.0",
    policy: "defragment",
    now: "2026-06-01T12:00:00Z",
    totals: {
      busyBefore: 3, busyAfter: 2, freed: 1, pending: 0,
      busyShare: { cpu: [0.5, 0.75], memory: [0.2, 0.3], pods: [0.2, 0.2] },
      histograms: { cpu: { before: bins(), after: bins() }, memory: { before: bins(), after: bins() }, pods: { before: bins(), after: bins() } },
    },
    nodes: [node("n1", "stays", 4000, 3100), node("n2", "freed", 1100, 100), node("n3", "held", 1100, 3000), node("n4", "empty", 100, 100)],
    pods: {
      namespaces: ["kube-system", "default"],
      owners: ["DaemonSet/agent", "ReplicaSet/web", "ReplicaSet/quorum"],
      name: ["agent-1", "web-1", "web-2", "agent-2", "quorum-1", "agent-3", "quorum-2", "agent-4"],
      namespace: [0, 1, 1, 0, 1, 0, 1, 0],
      owner: [0, 1, 1, 0, 2, 0, 2, 0],
      node: [0, 0, 0, 1, 1, 2, 2, 3],
      role: [1, 0, 0, 1, 0, 1, 0, 1],
      cpu: [100, 1900, 2000, 100, 1000, 100, 1000, 100],
      memory: [0, 1000, 1000, 0, 100, 0, 100, 0],
    },
    moves: [
      { pod: 1, to: 2, wave: 1, empties: false, strategy: "Defragmentation", reason: "makes room" },
      { pod: 4, to: 0, wave: 2, empties: true, strategy: "Defragmentation", reason: "n2 is emptied" },
    ],
    bounds: [{ strategy: "Defragmentation", busy: 3, freed: 1, most: 1, reason: "2 pods repel one another", note: "" }],
    held: [{ node: 2, pod: "default/quorum-2", reason: "AntiAffinity", message: "2 of 3 refuse it" }],
    refused: [],
    warnings: [],
  };
}

/** `nodes` nodes with `pods` pods each; every tenth node is freed. The same for the same numbers. */
export function large(nodes: number, pods: number): ReportDocument {
  const document = swap();
  let seed = 1;
  const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
  document.nodes = Array.from({ length: nodes }, (_, i) => ({
    name: `node-${String(i).padStart(4, "0")}`, fate: i % 10 === 0 ? "freed" : "stays",
    cpu: amount(16000, 12000, 13000), memory: amount(64 * 2 ** 30, 2 ** 35, 2 ** 35), pods: amount(110, pods, pods),
  }));
  const count = nodes * pods;
  const column = <T>(make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
  document.pods = {
    namespaces: ["default"], owners: Array.from({ length: 40 }, (_, i) => `ReplicaSet/web${i}`),
    name: column((i) => `web-${i}`), namespace: column(() => 0), owner: column((i) => i % 40),
    node: column((i) => Math.floor(i / pods)), role: column((i) => (i % pods === 0 ? 1 : 0)),
    cpu: column(() => Math.round(random() * 900) + 50), memory: column(() => 2 ** 29),
  };
  document.moves = [];
  for (let pod = 1; pod < count; ++pod) {
    const node = Math.floor(pod / pods);
    if (node % 10 === 0 && pod % pods !== 0 && pod % 3 === 0)
      document.moves.push({ pod, to: (node + 1) % nodes, wave: 1 + (pod % 3 === 0 ? pod % 2 : 0), empties: true, strategy: "Defragmentation", reason: "emptied" });
  }
  document.held = [];
  return document;
}
