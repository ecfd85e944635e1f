// Bundles the viewer: node tools/build.mjs [FOLDER]   (default: dist)
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = process.argv[2] ?? join(root, "dist");
await mkdir(folder, { recursive: true });

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  charset: "ascii", // the same bytes whatever a compiler or a server takes them for
  legalComments: "none",
  target: "es2021",
  logLevel: "warning",
};
await build({ ...shared, entryPoints: ["src/embedded.ts"], outfile: join(folder, "viewer.js"), format: "iife", globalName: "EvacuatorViewer" });
await build({ ...shared, entryPoints: ["src/viewer.css"], outfile: join(folder, "viewer.css") });

// What it was built from, for hack/verify-viewer.sh where there is no npm.
const sources = [...readdirSync(join(root, "src")).map((name) => `src/${name}`), "package-lock.json", "tools/build.mjs"].sort();
const digest = (name) => createHash("sha256").update(readFileSync(join(root, name))).digest("hex");
await writeFile(join(folder, "sources.sha256"), sources.map((name) => `${digest(name)}  ${name}\n`).join(""));
