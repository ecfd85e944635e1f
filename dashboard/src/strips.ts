// Tiles in a box: rows from the bottom up, each tile's area its share of the box.

/** Rectangles in units of the box: 0 ≤ x, x + w ≤ 1, y counts from the bottom. */
export interface Strips {
  x: Float32Array;
  y: Float32Array;
  w: Float32Array;
  h: Float32Array;
}

/** What a tile without a share of its own still gets, so that it can be seen. */
export const LEAST_SHARE = 0.003;

/** `aspect` is the width of the box over its height. Shares that exceed the box together are scaled down to it. */
export function layStrips(shares: readonly number[], aspect: number): Strips {
  const areas = fitAreas(shares);
  const count = areas.length;
  const strips = {
    x: new Float32Array(count),
    y: new Float32Array(count),
    w: new Float32Array(count),
    h: new Float32Array(count),
  };
  let y = 0;
  let last = 0;
  for (let begin = 0; begin < count; ) {
    const end = endOfRow(areas, begin, aspect);
    const height = rowHeight(areas, begin, end, end === count ? last : 0, 1 - y, aspect);
    layRow(strips, areas, begin, end, y, height);
    y += height;
    last = height;
    begin = end;
  }
  return strips;
}

function fitAreas(shares: readonly number[]): Float64Array {
  const areas = Float64Array.from(shares, (share) => Math.max(Number.isFinite(share) ? share : 0, LEAST_SHARE));
  const sum = areas.reduce((a, b) => a + b, 0);
  return sum > 1 ? areas.map((area) => area / sum) : areas;
}

/** How far the tiles of a row are from squares, on average: 1 is a square. */
function badness(areas: Float64Array, begin: number, end: number, sum: number, aspect: number): number {
  let total = 0;
  for (let i = begin; i < end; ++i) {
    // A row of `sum` is sum high; the tile is areas[i] / sum wide.
    const ratio = (areas[i]! / sum / sum) * aspect;
    total += Math.max(ratio, 1 / ratio);
  }
  return total / (end - begin);
}

function endOfRow(areas: Float64Array, begin: number, aspect: number): number {
  let sum = areas[begin]!;
  let best = badness(areas, begin, begin + 1, sum, aspect);
  let end = begin + 1;
  for (; end < areas.length; ++end) {
    const next = badness(areas, begin, end + 1, sum + areas[end]!, aspect);
    if (next > best) break;
    best = next;
    sum += areas[end]!;
  }
  return end;
}

/** The last row does not stretch over the whole width when that would make slivers of its tiles. */
function rowHeight(areas: Float64Array, begin: number, end: number, last: number, room: number, aspect: number): number {
  let sum = 0;
  for (let i = begin; i < end; ++i) sum += areas[i]!;
  if (end < areas.length) return Math.min(sum, room);
  const square = Math.sqrt((sum / (end - begin)) * aspect);
  const wanted = Math.max(sum, last > 0 ? Math.min(last, square) : square);
  return Math.min(wanted, room);
}

function layRow(strips: Strips, areas: Float64Array, begin: number, end: number, y: number, height: number): void {
  let x = 0;
  for (let i = begin; i < end; ++i) {
    const width = height > 0 ? areas[i]! / height : 0;
    strips.x[i] = x;
    strips.y[i] = y;
    strips.w[i] = width;
    strips.h[i] = height;
    x += width;
  }
}
