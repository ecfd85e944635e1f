import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDocument } from "../src/document";
import { Model, orderNodes } from "../src/model";
import { classify, planClass, TileClass } from "../src/palette";
import { search } from "../src/search";
import { large, swap } from "./fixture";

const podsOn = (model: Model, step: number, node: number): string[] => {
  const { first, pods } = model.placement(step);
  return Array.from(pods.subarray(first[node], first[node + 1]), (pod) => model.document.pods.name[pod]!);
};

test("pods are where the waves that are over have put them", () => {
  const model = new Model(parseDocument(swap()));
  assert.deepEqual(model.waves, [1, 2]);
  assert.deepEqual(podsOn(model, 0, 0), ["agent-1", "web-1", "web-2"]);
  assert.deepEqual(podsOn(model, 1, 0), ["agent-1", "web-2"]);
  assert.deepEqual(podsOn(model, 1, 1), ["agent-2", "quorum-1"]);
  assert.deepEqual(podsOn(model, 2, 0), ["agent-1", "web-2", "quorum-1"]);
  assert.deepEqual(podsOn(model, 2, 1), ["agent-2"]);
});

test("a pod that nowhere fits is nowhere, one that leaves already is gone at the end", () => {
  const document = swap();
  document.moves[1]!.to = -1;
  document.pods.role[2] = 2;
  const model = new Model(parseDocument(document));
  assert.deepEqual(podsOn(model, 2, 0), ["agent-1"]);
  assert.deepEqual(podsOn(model, 0, 0), ["agent-1", "web-1", "web-2"]);
});

test("every pod is on one node at every step", () => {
  const model = new Model(parseDocument(large(50, 12)));
  for (let step = 0; step <= model.steps; ++step) {
    const { pods } = model.placement(step);
    assert.equal(new Set(pods).size, 600);
  }
});

test("what the plan does with a pod has a colour of its own", () => {
  const model = new Model(parseDocument(swap()));
  const classes = swap().pods.name.map((_, pod) => planClass(model, pod));
  assert.deepEqual(classes, [TileClass.WithNode, TileClass.Room, TileClass.Stays, TileClass.WithNode, TileClass.Empties, TileClass.WithNode, TileClass.Holds, TileClass.WithNode]);
  const byName = classify(model, "workload");
  assert.equal(byName[1], byName[2]);
  assert.ok(byName[1]! >= TileClass.FirstHue);
});

test("nodes are ordered by fate, name or share", () => {
  const model = new Model(parseDocument(swap()));
  assert.deepEqual(orderNodes(model, "fate", "cpu"), [1, 2, 0, 3]);
  assert.deepEqual([...model.isHeldOpen], [0, 0, 1, 0]);
  assert.deepEqual(orderNodes(model, "name", "cpu"), [0, 1, 2, 3]);
  assert.deepEqual(orderNodes(model, "share", "cpu"), [0, 2, 1, 3]);
});

test("search finds pods, owners and nodes, in any case", () => {
  const model = new Model(parseDocument(swap()));
  assert.equal(search(model, "  "), null);
  assert.equal(search(model, "QUORUM")?.pods, 2);
  assert.equal(search(model, "n3")?.pods, 2);
  assert.deepEqual([search(model, "nothing")?.pods, search(model, "nothing")?.firstNode], [0, -1]);
});

for (const [name, break_, message] of [
  ["another format", (d: any) => (d.format = 2), /format 2/],
  ["no nodes", (d: any) => delete d.nodes, /nodes are no list/],
  ["a short column", (d: any) => d.pods.cpu.pop(), /column cpu/],
  ["a pod on no node", (d: any) => (d.pods.node[0] = 99), /on no node/],
  ["a move of no pod", (d: any) => (d.moves[0].pod = -1), /of no pod/],
  ["a move to nowhere", (d: any) => (d.moves[0].to = 4), /to no node/],
  ["a hold of nothing", (d: any) => (d.held[0].node = 1.5), /no node/],
] as const) {
  test(`a document with ${name} is refused`, () => {
    const document = structuredClone(swap());
    break_(document);
    assert.throws(() => parseDocument(document), message);
  });
}

test("what is no object is refused", () => {
  for (const value of [null, 3, "text", []]) assert.throws(() => parseDocument(value), /no JSON object/);
});
