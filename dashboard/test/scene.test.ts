import assert from "node:assert/strict";
import { test } from "node:test";
import { clamp, fit, MARGIN, zoom } from "../src/camera";
import { parseDocument } from "../src/document";
import { amount, percent, plural } from "../src/format";
import { Model, orderNodes } from "../src/model";
import { BOX_HEIGHT, BOX_WIDTH, boxX, boxY, makeGrid, makeScene, slotAt, slotsIn, tileAt } from "../src/scene";
import { LEAST_SHARE, layStrips } from "../src/strips";
import { large, swap } from "./fixture";

test("tiles have their share as area, inside the box and beside each other", () => {
  let seed = 5;
  const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let round = 0; round < 200; ++round) {
    const count = 1 + Math.floor(random() * 60);
    const shares = Array.from({ length: count }, () => 0.004 + (random() * 0.9) / count);
    const { x, y, w, h } = layStrips(shares, 1.36);
    for (let i = 0; i < count; ++i) {
      assert.ok(Math.abs(w[i]! * h[i]! - shares[i]!) < 1e-5);
      assert.ok(x[i]! + w[i]! < 1 + 1e-5 && y[i]! + h[i]! < 1 + 1e-5);
      for (let k = 0; k < i; ++k) {
        const wide = Math.min(x[i]! + w[i]!, x[k]! + w[k]!) - Math.max(x[i]!, x[k]!);
        const high = Math.min(y[i]! + h[i]!, y[k]! + h[k]!) - Math.max(y[i]!, y[k]!);
        assert.ok(!(wide > 1e-5 && high > 1e-5));
      }
    }
  }
});

test("strange shares are drawn all the same", () => {
  const { w, h } = layStrips([0.9, 0.9, NaN, -1, Infinity, 0], 1);
  assert.ok(w.reduce((area, each, i) => area + each * h[i]!, 0) <= 1 + 1e-5);
  assert.equal(layStrips([], 1).x.length, 0);
  const [only] = layStrips([0], 1).w;
  assert.ok(Math.abs(only! - Math.sqrt(LEAST_SHARE)) < 1e-6);
});

test("a point finds its node and its pod", () => {
  const model = new Model(parseDocument(large(30, 10)));
  const grid = makeGrid(orderNodes(model, "fate", "cpu"), 1.4);
  const scene = makeScene(model, grid, 0, "cpu");
  for (let tile = 0; tile < scene.pod.length; ++tile) {
    const found = tileAt(scene, scene.x[tile]! + scene.w[tile]! / 2, scene.y[tile]! + scene.h[tile]! / 2);
    assert.equal(found, tile);
    assert.equal(scene.tileOf[scene.pod[tile]!], tile);
  }
  for (let slot = 0; slot < 30; ++slot) {
    assert.equal(slotAt(grid, boxX(grid, slot) + 1, boxY(grid, slot) + 1), slot);
    assert.equal(slotAt(grid, boxX(grid, slot) + BOX_WIDTH + 3, boxY(grid, slot)), -1);
  }
  assert.equal(slotAt(grid, -1, 0), -1);
});

test("slots in view are those that the rectangle touches", () => {
  const grid = makeGrid(Array.from({ length: 100 }, (_, i) => i), 1);
  const all = slotsIn(grid, -10, -10, grid.width + 20, grid.height + 20);
  assert.deepEqual(all, { left: 0, right: grid.columns, top: 0, bottom: grid.rows });
  const one = slotsIn(grid, 5, 5, BOX_WIDTH - 20, BOX_HEIGHT - 20);
  assert.deepEqual(one, { left: 0, right: 1, top: 0, bottom: 1 });
});

test("pods that stay have one place before and after", () => {
  const model = new Model(parseDocument(swap()));
  const grid = makeGrid([0, 1, 2, 3], 1);
  const before = makeScene(model, grid, 0, "cpu");
  const after = makeScene(model, grid, 2, "cpu");
  const agent = 0;
  assert.equal(before.x[before.tileOf[agent]!], after.x[after.tileOf[agent]!]);
});

test("a node is free once its pods have gone, and its share goes with them", () => {
  const model = new Model(parseDocument(swap()));
  const grid = makeGrid([0, 1, 2, 3], 1);
  const [before, between, after] = [0, 1, 2].map((step) => makeScene(model, grid, step, "cpu"));
  assert.deepEqual([before!.isFreed[1], between!.isFreed[1], after!.isFreed[1]], [0, 0, 1]);
  assert.deepEqual([before!, between!, after!].map((scene) => scene.share[0]!.toFixed(3)), ["1.000", "0.525", "0.775"]);
});

test("an empty cluster has a scene", () => {
  const document = large(0, 0);
  const model = new Model(parseDocument(document));
  const scene = makeScene(model, makeGrid([], 1.4), 0, "cpu");
  assert.equal(scene.pod.length, 0);
  assert.equal(tileAt(scene, 0, 0), -1);
});

test("zooming keeps the point under the pointer", () => {
  const before = { x: 10, y: 20, scale: 0.5 };
  const after = zoom(before, 2, 100, 50, 0.01);
  assert.equal(after.x + 100 / after.scale, before.x + 100 / before.scale);
  assert.equal(after.y + 50 / after.scale, before.y + 50 / before.scale);
});

test("the camera does not lose the world", () => {
  const world = { width: 1000, height: 500 };
  const view = { width: 400, height: 300 };
  const lost = clamp({ x: 1e6, y: -1e6, scale: 1 }, world, view);
  assert.equal(lost.x, 1000 + MARGIN - 400);
  assert.equal(lost.y, -MARGIN);
  const all = fit(world, view);
  assert.ok(all.x * all.scale <= 0 && (world.width - all.x) * all.scale <= view.width);
});

test("numbers have units", () => {
  assert.deepEqual([0, 0.001, 0.946, 0.999, 1].map((share) => percent(share).replaceAll("\u00a0", " ")), ["0 %", "< 1 %", "95 %", "99 %", "100 %"]);
  assert.deepEqual([amount(50, "cpu"), amount(250, "cpu"), amount(1000, "cpu"), amount(15900, "cpu"), amount(0, "cpu")], ["50 millicores", "0.25 cores", "1 core", "15.9 cores", "0 cores"]);
  assert.deepEqual([amount(64 * 2 ** 30, "memory"), amount(512, "memory"), amount(17, "pods")], ["64 GiB", "512 B", "17 pods"]);
  assert.deepEqual([plural(1, "node"), plural(1000, "node")], ["1 node", "1,000 nodes"]);
});
