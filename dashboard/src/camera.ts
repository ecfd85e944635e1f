// The map from world units to CSS pixels of one pane: pixel = (world - origin) * scale.

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export const MARGIN = 12;
export const MOST_SCALE = 8;

/** The scale at which the whole world is seen, at most 1.6. */
export function fitScale(world: Size, view: Size): number {
  const scale = Math.min((view.width - 2 * MARGIN) / world.width, (view.height - 2 * MARGIN) / world.height, 1.6);
  return Math.max(scale, 0.001);
}

export function fit(world: Size, view: Size): Camera {
  const scale = fitScale(world, view);
  return { scale, x: (world.width - view.width / scale) / 2, y: topOf(world, view, scale) };
}

/** A world lower than the view begins at its top edge. */
function topOf(world: Size, view: Size, scale: number): number {
  return world.height * scale + 2 * MARGIN < view.height ? -MARGIN / scale : (world.height - view.height / scale) / 2;
}

/** Zooms by `factor` and keeps what is at the pixel where it is. */
export function zoom(camera: Camera, factor: number, px: number, py: number, least: number): Camera {
  const scale = Math.min(Math.max(camera.scale * factor, least), MOST_SCALE);
  return { scale, x: camera.x + px / camera.scale - px / scale, y: camera.y + py / camera.scale - py / scale };
}

/** Keeps a part of the world in view. */
export function clamp(camera: Camera, world: Size, view: Size): Camera {
  const axis = (at: number, size: number, pixels: number): number => {
    const seen = pixels / camera.scale;
    const margin = MARGIN / camera.scale;
    const low = Math.min(-margin, size + margin - seen);
    const high = Math.max(-margin, size + margin - seen);
    return Math.min(Math.max(at, low), high);
  };
  return { scale: camera.scale, x: axis(camera.x, world.width, view.width), y: axis(camera.y, world.height, view.height) };
}

/** Brings the rectangle to the middle, so large that it fills `part` of the view. */
export function frame(x: number, y: number, width: number, height: number, view: Size, part: number): Camera {
  const scale = Math.min((view.width / width) * part, (view.height / height) * part, MOST_SCALE);
  return { scale, x: x + width / 2 - view.width / scale / 2, y: y + height / 2 - view.height / scale / 2 };
}
