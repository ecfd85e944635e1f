// A headless Chromium over its DevTools pipe, with nothing but node.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CHROMIUM = process.env.CHROMIUM ?? "chromium";

export class Browser {
  #next = 1;
  #waiting = new Map();
  #listeners = [];
  #rest = "";

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "evacuator-chromium-"));
    const flags = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-background-networking", "--no-first-run",
      "--force-color-profile=srgb", "--hide-scrollbars", "--disable-extensions", `--user-data-dir=${this.folder}`];
    this.process = spawn(CHROMIUM, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.process.on("error", (error) => this.#fail(error));
    this.process.on("exit", () => this.#fail(new Error("chromium ended")));
    this.process.stdio[3].on("error", () => {});
    this.process.stdio[4].setEncoding("utf8").on("data", (text) => this.#receive(text));
  }

  send(method, params = {}, sessionId) {
    const id = this.#next++;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  on(listener) {
    this.#listeners.push(listener);
  }

  /** dark: what the reader prefers. */
  async page({ width = 1440, height = 900, dark = false, ratio = 1 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: ratio, mobile: false });
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    return page;
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    await new Promise((resolve) => (this.process.exitCode === null ? this.process.once("exit", resolve) : resolve()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  #receive(text) {
    const parts = (this.#rest + text).split("\0");
    this.#rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      const waiting = this.#waiting.get(message.id);
      if (!waiting) {
        for (const listener of this.#listeners) listener(message);
        continue;
      }
      this.#waiting.delete(message.id);
      if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
      else waiting.resolve(message.result);
    }
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

class Page {
  /** What the page complained about: exceptions, console errors, refusals of its policy. */
  complaints = [];

  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    browser.on((message) => {
      if (message.sessionId !== session) return;
      if (message.method === "Runtime.exceptionThrown") this.complaints.push(message.params.exceptionDetails.exception?.description ?? "exception");
      if (message.method === "Log.entryAdded" && message.params.entry.level === "error") this.complaints.push(message.params.entry.text);
    });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async open(url) {
    await this.send("Log.enable");
    const loaded = new Promise((resolve) => this.browser.on((message) => message.sessionId === this.session && message.method === "Page.loadEventFired" && resolve()));
    await this.send("Page.navigate", { url });
    await loaded;
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async wait(expression, seconds = 30) {
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await pause(30)) if (await this.evaluate(expression)) return;
    throw new Error(`never came true: ${expression}`);
  }

  async screenshot() {
    return Buffer.from((await this.send("Page.captureScreenshot", { format: "png" })).data, "base64");
  }

  mouse(type, x, y, more = {}) {
    return this.send("Input.dispatchMouseEvent", { type, x, y, ...more });
  }

  async click(x, y) {
    await this.mouse("mouseMoved", x, y);
    await this.mouse("mousePressed", x, y, { button: "left", clickCount: 1 });
    await this.mouse("mouseReleased", x, y, { button: "left", clickCount: 1 });
  }

  async key(key, text) {
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
  }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Sharp: the map has had the time to finish what it draws in slices. */
export async function settled(page) {
  await pause(400);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await pause(600);
}
