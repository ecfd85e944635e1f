// node tools/screenshot.mjs FILE.html|svg OUT.png [--dark] [--size 1440x900] [--ratio 1] [--run SCRIPT] [--hover X,Y] [--click X,Y] [--zoom N@X,Y]
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, pause, settled } from "./chromium.mjs";

const [file, out, ...flags] = process.argv.slice(2);
const value = (name) => (flags.includes(name) ? flags[flags.indexOf(name) + 1] : undefined);
const point = (name) => value(name)?.split(",").map(Number);
const [width, height] = (value("--size") ?? "1440x900").split("x").map(Number);

const browser = new Browser();
try {
  const page = await browser.page({ width, height, dark: flags.includes("--dark"), ratio: Number(value("--ratio") ?? 1) });
  await page.open(pathToFileURL(resolve(file)).href);
  await settled(page);
  if (value("--run")) await page.evaluate(value("--run"));
  const zoom = value("--zoom")?.split("@");
  if (zoom) {
    const [x, y] = zoom[1].split(",").map(Number);
    for (let i = 0; i < Number(zoom[0]); ++i) {
      await page.mouse("mouseWheel", x, y, { deltaX: 0, deltaY: -120 });
      await pause(30);
    }
  }
  if (point("--click")) await page.click(...point("--click"));
  if (point("--hover")) await page.mouse("mouseMoved", ...point("--hover"));
  await settled(page);
  writeFileSync(out, await page.screenshot());
  for (const complaint of page.complaints) console.error(complaint);
} finally {
  await browser.close();
}
