// Numbers with their units, for people.

import type { Resource } from "./document";

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const FINER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export function count(value: number): string {
  return GROUPED.format(value);
}

/** "1 node", "1,000 nodes". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share of 1 as "94 %", without a break; what is not nothing is never "0 %", and what is not all never "100 %". */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 1) return "<\u00a01\u00a0%";
  if (value > 99 && value < 100) return "99\u00a0%";
  return `${Math.round(value)}\u00a0%`;
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytes(value: number): string {
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${GROUPED.format(value)} ${BINARY[unit]}`;
}

function cores(milli: number): string {
  if (milli !== 0 && Math.abs(milli) < 100) return `${GROUPED.format(milli)} millicores`;
  return milli === 1000 ? "1 core" : `${FINER.format(milli / 1000)} cores`;
}

export function amount(value: number, resource: Resource): string {
  if (resource === "cpu") return cores(value);
  return resource === "memory" ? bytes(value) : plural(value, "pod");
}

export const RESOURCE_NAMES: Record<Resource, string> = { cpu: "CPU", memory: "Memory", pods: "Pods" };
export const FATE_NAMES = { freed: "freed", held: "held", stays: "stays", empty: "empty" } as const;
