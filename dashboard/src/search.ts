// Which pods match what was typed: by namespace, name, owner or node.

import type { Model } from "./model";

export interface Found {
  /** By pod: 1 if it does not match. */
  dimmed: Uint8Array;
  pods: number;
  firstNode: number; // -1: nothing matches
}

export function search(model: Model, query: string): Found | null {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return null;
  const dimmed = new Uint8Array(model.podCount).fill(1);
  const isNode = model.document.nodes.map((node) => node.name.toLowerCase().includes(wanted));
  let pods = 0;
  let firstNode = isNode.indexOf(true);
  for (let pod = 0; pod < model.podCount; ++pod) {
    const node = model.document.pods.node[pod]!;
    if (!isNode[node] && !`${model.podName(pod)} ${model.owner(pod)}`.toLowerCase().includes(wanted)) continue;
    dimmed[pod] = 0;
    ++pods;
    if (firstNode < 0) firstNode = node;
  }
  return { dimmed, pods, firstNode };
}
