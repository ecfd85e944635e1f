// Bundles the viewer: node tools/build.mjs [FOLDER]   (default: dist)
import { build } from "esbuild";
import { mkdir } from "node:fs/promises";
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
