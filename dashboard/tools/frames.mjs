// How long the main thread runs script in each frame while the map is zoomed and dragged.
//   node tools/frames.mjs REPORT.html [--frames 240] [--limit 8]   (milliseconds, 95th percentile; fails above the limit)
// Script is what the trace of the renderer's main thread has of it: handlers of events, animation frames, compilation and
// garbage collection, nested ones once. A frame is what lies between two animation frames.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, pause, settled } from "./chromium.mjs";

const [file, ...flags] = process.argv.slice(2);
const value = (name, otherwise) => Number(flags.includes(name) ? flags[flags.indexOf(name) + 1] : otherwise);
const SCRIPT = new Set(["FunctionCall", "EvaluateScript", "EventDispatch", "FireAnimationFrame", "TimerFire", "v8.compile", "MinorGC", "MajorGC", "V8.GCScavenger", "RunMicrotasks", "FireIdleCallback"]);

/** Wheel events about as dense as a trackpad's: in over a corner, out again, and a drag between. */
async function exercise(page, frames) {
  const box = await page.evaluate("(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('.ev-overlay').getBoundingClientRect())");
  const part = Math.floor(frames / 3);
  for (let i = 0; i < part; ++i) {
    await page.mouse("mouseWheel", box.x + box.width * 0.2, box.y + box.height * 0.3, { deltaX: 0, deltaY: -50 });
    await pause(16);
  }
  const x = box.x + box.width * 0.25;
  await page.mouse("mouseMoved", x, box.y + box.height / 2);
  await page.mouse("mousePressed", x, box.y + box.height / 2, { button: "left", clickCount: 1 });
  for (let i = 0; i < part; ++i) {
    await page.mouse("mouseMoved", x + 60 * Math.sin(i / 9), box.y + box.height / 2 + 40 * Math.cos(i / 7), { button: "left", buttons: 1 });
    await pause(16);
  }
  await page.mouse("mouseReleased", x, box.y + box.height / 2, { button: "left", clickCount: 1 });
  for (let i = 0; i < part; ++i) {
    await page.mouse("mouseWheel", box.x + box.width * 0.2, box.y + box.height * 0.3, { deltaX: 0, deltaY: 50 });
    await pause(16);
  }
}

async function traceOf(browser, page, act) {
  const events = [];
  let finish;
  const done = new Promise((resolve) => (finish = resolve));
  browser.on((message) => {
    if (message.method === "Tracing.dataCollected") events.push(...message.params.value);
    if (message.method === "Tracing.tracingComplete") finish();
  });
  await page.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "v8", "blink.user_timing", "disabled-by-default-v8.gc"] } });
  await act();
  await page.send("Tracing.end");
  await done;
  return events;
}

/** Milliseconds of script in each frame: time on the wall, and time on a processor, which other work of the machine does not
 * lengthen. */
function scriptByFrame(events) {
  const byThread = new Map();
  for (const event of events) {
    if (event.name !== "FireAnimationFrame") continue;
    const key = `${event.pid}/${event.tid}`;
    byThread.set(key, (byThread.get(key) ?? 0) + 1);
  }
  const [main] = [...byThread].sort((a, b) => b[1] - a[1])[0];
  const mine = events.filter((event) => `${event.pid}/${event.tid}` === main && event.ph === "X").sort((a, b) => a.ts - b.ts);
  const frames = mine.filter((event) => event.name === "FireAnimationFrame").map((event) => event.ts);
  const wall = new Array(frames.length).fill(0);
  const processor = new Array(frames.length).fill(0);
  let end = 0;
  let frame = -1;
  for (const event of mine) {
    if (!SCRIPT.has(event.name)) continue;
    while (frame + 1 < frames.length && event.ts >= frames[frame + 1]) ++frame;
    if (event.ts < end) continue; // inside one that was counted
    if (frame >= 0) {
      wall[frame] += event.dur / 1000;
      processor[frame] += (event.tdur ?? event.dur) / 1000;
    }
    end = event.ts + event.dur;
  }
  return { wall: wall.slice(1), processor: processor.slice(1) };
}

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];

const browser = new Browser();
try {
  const page = await browser.page();
  await page.open(pathToFileURL(resolve(file)).href);
  await settled(page);
  const subject = await page.evaluate("document.querySelector('.ev-overlay').getAttribute('aria-label')");
  const { wall, processor } = scriptByFrame(await traceOf(browser, page, () => exercise(page, value("--frames", 360))));
  console.log(`${subject}; ${wall.length} frames, script on the main thread in each:`);
  for (const [name, times] of [["processor", processor], ["wall", wall]]) {
    const sorted = times.sort((a, b) => a - b);
    const [half, most, worst] = [quantile(sorted, 0.5), quantile(sorted, 0.95), sorted.at(-1)].map((each) => each.toFixed(1));
    console.log(`  ${name} time: median ${half} ms, p95 ${most} ms, longest ${worst} ms`);
  }
  if (quantile(processor, 0.95) > value("--limit", 8)) {
    console.error(`above the limit of ${value("--limit", 8)} ms`);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
}
