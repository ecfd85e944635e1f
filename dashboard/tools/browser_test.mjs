// The page that `evacuator simulate --report` writes, in a real Chromium.  node tools/browser_test.mjs PATH/TO/evacuator
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, settled } from "./chromium.mjs";

const evacuator = resolve(process.argv[2] ?? "../build/release/cmd/evacuator");
const folder = mkdtempSync(join(tmpdir(), "evacuator-report-"));
const HOSTILE = "</script><script>window.owned=1</script><img src=x onerror=window.owned=2><!--\u2028\u202e'\"";

const node = (name, cpu) => ({ apiVersion: "v1", kind: "Node", metadata: { name, uid: name, creationTimestamp: "2026-01-01T00:00:00Z", labels: { "kubernetes.io/hostname": name } }, status: { allocatable: { cpu, memory: "64Gi", pods: "110" }, conditions: [{ type: "Ready", status: "True" }] } });
const pod = (name, on, cpu, more = {}) => ({
  apiVersion: "v1", kind: "Pod",
  metadata: { name, namespace: "shop", uid: `u-${name}`, creationTimestamp: "2026-01-01T00:00:00Z", labels: { app: name.replace(/-.*/, "") }, ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: more.owner ?? "web", uid: "rs", controller: true }] },
  spec: { nodeName: on, containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }], ...more.spec }, status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }], startTime: "2026-01-01T00:00:00Z" },
});
const repels = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app: "quorum" } }, topologyKey: "kubernetes.io/hostname" }] } } };
/** Two full nodes and two that quorum pods hold open: one can go, by swaps. */
const ITEMS = [
  node("n1", "4"), node("n2", "4"), node("n3", "4"), node("n4", "4"),
  ...[1, 2, 3, 4].map((i) => pod(`web-a${i}`, "n1", "1")), ...[1, 2, 3, 4].map((i) => pod(`web-b${i}`, "n2", "1")),
  pod("quorum-1", "n3", "500m", { spec: repels, owner: "quorum" }), pod("quorum-2", "n4", "500m", { spec: repels, owner: "quorum" }),
];

function report(name, items, policyName) {
  const out = join(folder, `${name}.html`);
  writeFileSync(join(folder, "dump.json"), JSON.stringify({ kind: "List", items }));
  writeFileSync(join(folder, "policy.json"), JSON.stringify({ apiVersion: "evacuator.dev/v1alpha1", kind: "DeschedulerPolicy", metadata: { name: policyName }, spec: { strategies: [{ name: "Defragmentation", args: {} }], evictability: { nodeFit: true } } }));
  execFileSync(evacuator, ["simulate", "--snapshot", join(folder, "dump.json"), "--policy", join(folder, "policy.json"), "--report", out], { stdio: ["ignore", "pipe", "inherit"] });
  return out;
}

const tests = [];
const test = (name, body) => tests.push({ name, body });
const text = (selector) => `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`;

test("names that are markup stay text", async (browser) => {
  const items = [node(HOSTILE, "4"), node("n2", "4"), pod(HOSTILE, HOSTILE, "1", { owner: HOSTILE }), pod("web-1", "n2", "1", { owner: HOSTILE })];
  const page = await browser.page();
  await page.open(pathToFileURL(report("hostile", items, "defragment")).href);
  await settled(page);
  assert.equal(await page.evaluate("typeof window.owned"), "undefined");
  assert.equal(await page.evaluate("document.scripts.length"), 2);
  assert.equal(await page.evaluate("document.images.length"), 0);
  await page.evaluate("[...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent === 'Nodes').click()");
  assert.match(await page.evaluate("document.querySelector('.ev-panel:not([hidden])').textContent"), /<\/script><script>window\.owned=1/);
  assert.deepEqual(page.complaints, []);
});

test("nothing is fetched, and no other script runs", async (browser) => {
  const page = await browser.page();
  await page.open(pathToFileURL(report("policy", ITEMS, "defragment")).href);
  assert.equal(await page.evaluate("performance.getEntriesByType('resource').length"), 0);
  assert.equal(await page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'fetched', () => 'refused')"), "refused");
  assert.equal(await page.evaluate("new Promise((done) => { const image = new Image(); image.onload = () => done('loaded'); image.onerror = () => done('refused'); image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; })"), "refused");
  await page.evaluate("const script = document.createElement('script'); script.textContent = 'window.owned = 1'; document.body.append(script)");
  assert.equal(await page.evaluate("typeof window.owned"), "undefined");
  assert.ok(page.complaints.some((complaint) => complaint.includes("Content Security Policy")));
});

test("the bound stands beside the result", async (browser) => {
  const page = await opened(browser);
  assert.match(await page.evaluate(text(".ev-cards")), /1 of 1 possible/);
  assert.match(await page.evaluate("document.querySelector('.ev-overlay').ariaLabel"), /^4 nodes with 10 pods, before and after \d+ moves; 1 node is freed$/);
});

test("the keyboard goes from node to node and from pod to pod, and says where it is", async (browser) => {
  const page = await opened(browser);
  await page.evaluate("document.querySelector('.ev-overlay').focus()");
  const said = [];
  for (const key of ["ArrowRight", "ArrowRight", "End", "Home", "]"]) {
    await page.key(key, key === "]" ? "]" : undefined);
    said.push(await page.evaluate(text(".ev-hidden[aria-live]")));
  }
  assert.equal(new Set(said).size >= 4, true, said.join(" | "));
  assert.equal(said[0], said[3]);
  assert.match(said[0], /^Node n\d, freed/);
  assert.match(said[4], /^Pod shop\/quorum-\d, moves in wave \d+ from n\d to n\d$/);
  await page.key("Escape");
  assert.match(await page.evaluate("document.querySelector('.ev-panel:not([hidden])').textContent"), /Select a node or a pod/);
});

test("pointing at a pod tells where it goes and why, a click pins it", async (browser) => {
  const page = await opened(browser);
  await page.evaluate("document.querySelector('.ev-wave table .ev-link').click()");
  await settled(page);
  const place = await page.evaluate("(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector('.ev-overlay').getBoundingClientRect())");
  let tip = "";
  let at = null;
  for (let y = place.y + 10; y < place.y + place.height && !tip.includes("wave"); y += 14) {
    for (let x = place.x + 10; x < place.x + place.width / 2 && !tip.includes("wave"); x += 14) {
      await page.mouse("mouseMoved", x, y);
      tip = await page.evaluate(`document.querySelector('.ev-tip').hidden ? '' : ${text(".ev-tip")}`);
      at = [x, y];
    }
  }
  assert.match(tip, /shop\/.*moves in wave \d+ from n\d to n\d/);
  await page.click(...at);
  assert.match(await page.evaluate("document.querySelector('.ev-panel:not([hidden])').textContent"), /Target.*Wave.*Strategy.*Reason/);
});

test("tabs follow the arrow keys, and each has a table or a picture", async (browser) => {
  const page = await opened(browser);
  await page.evaluate("document.querySelector('[role=tab]').focus()");
  const seen = [];
  for (let i = 0; i < 5; ++i) {
    seen.push(await page.evaluate("document.activeElement.textContent + ':' + document.querySelectorAll('.ev-panel:not([hidden]) :is(table, svg, p)').length"));
    await page.key("ArrowRight");
  }
  assert.deepEqual(seen.map((each) => each.split(":")[0]), ["Moves", "Selection", "Utilisation", "Held nodes", "Nodes"]);
  assert.ok(seen.every((each) => Number(each.split(":")[1]) > 0), seen.join());
});

test("wave by wave, the picture changes", async (browser) => {
  const page = await opened(browser);
  await page.evaluate("[...document.querySelectorAll('button')].find((button) => button.textContent === 'Wave by wave').click()");
  const before = await page.evaluate("(document.querySelector('.ev-pane').toDataURL())");
  await page.evaluate("(() => { const slider = document.querySelector('input[type=range]'); slider.value = slider.max; slider.dispatchEvent(new Event('input')); })()");
  await settled(page);
  assert.notEqual(await page.evaluate("(document.querySelector('.ev-pane').toDataURL())"), before);
  assert.match(await page.evaluate(text(".ev-heads")), /^After wave \d+ of \d+: \d+ moves?, outlined/);
});

test("mount() draws into any element, says what it cannot draw, and goes without a trace", async (browser) => {
  const page = await opened(browser);
  await page.evaluate("window.place = document.createElement('div'); document.body.append(place); window.viewer = EvacuatorViewer.mount(place, {format: 9})");
  assert.match(await page.evaluate("place.textContent"), /cannot be shown: the report has format 9/);
  await page.evaluate("viewer.destroy(); viewer = EvacuatorViewer.mount(place, JSON.parse(document.getElementById('data').textContent))");
  assert.equal(await page.evaluate("place.querySelectorAll('canvas').length"), 3);
  await page.evaluate("viewer.destroy()");
  assert.equal(await page.evaluate("place.childNodes.length + place.classList.length"), 0);
  assert.deepEqual(page.complaints, []);
});

test("light and dark follow the reader, and the button", async (browser) => {
  const colour = "getComputedStyle(document.querySelector('.ev-root')).backgroundColor";
  const light = await (await opened(browser)).evaluate(colour);
  const page = await opened(browser, { dark: true });
  const dark = await page.evaluate(colour);
  assert.notEqual(light, dark);
  await page.evaluate("document.querySelector('.ev-theme').click()");
  assert.equal(await page.evaluate(colour), light);
});

async function opened(browser, options) {
  const page = await browser.page(options);
  await page.open(pathToFileURL(join(folder, "policy.html")).href);
  await settled(page);
  return page;
}

const browser = new Browser();
let failed = 0;
try {
  for (const { name, body } of tests) {
    try {
      await body(browser);
      console.log(`ok    ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAIL  ${name}\n${error.stack}`);
    }
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${tests.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
