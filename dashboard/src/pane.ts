// One canvas with one state of the cluster. A frame is drawn directly where few tiles are in view; else from a picture of
// the whole, which is made sharp when the camera rests. No frame waits for more than a slice of that work.

import { fitScale, type Camera, type Size } from "./camera";
import { paintBoxes, paintText, visibleTiles, type Painting, type Target } from "./painter";

/** Tiles that one frame may draw one by one. */
const DIRECT_TILES = 2000;
const LARGEST_PICTURE = 4096;
/** The picture has so many more pixels than are seen of it at first, so that it stands some zooming. */
const FINER = 3;

interface Job {
  steps: Generator<void>;
  done: () => void;
}

export class Pane {
  readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d", { alpha: false })!;
  private readonly overview = document.createElement("canvas");
  private readonly sharp = document.createElement("canvas");
  private overviewScale = 0; // device pixels a world unit; 0: there is none yet
  private overviewJob: Job | null = null;
  private sharpJob: Job | null = null;
  private isSharp = false;
  private painting: Painting | null = null;
  private view: Size = { width: 1, height: 1 };
  private ratio = 1;

  constructor() {
    this.canvas.className = "ev-pane";
    this.canvas.setAttribute("aria-hidden", "true");
  }

  resize(view: Size, ratio: number): void {
    this.view = view;
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(view.width * ratio));
    this.canvas.height = Math.max(1, Math.round(view.height * ratio));
    this.startOverview();
  }

  show(painting: Painting): void {
    this.painting = painting;
    this.startOverview();
  }

  /** Draws what can be drawn at once. */
  draw(camera: Camera): void {
    const target = this.target(this.context, camera);
    this.sharpJob = null;
    this.isSharp = false;
    this.clear(this.context, this.canvas);
    if (!this.painting) return;
    if (visibleTiles(this.painting, target) <= DIRECT_TILES) {
      this.isSharp = true;
      finish(paintBoxes(this.painting, target));
      finish(paintText(this.painting, target));
    } else {
      this.drawOverview(target);
    }
  }

  /** Nothing can be seen until work() is done. */
  get isEmpty(): boolean {
    return this.overviewJob !== null && this.overviewScale === 0 && !this.isSharp;
  }

  /** True: work() has something to do. */
  hasWork(isResting: boolean): boolean {
    return this.overviewJob !== null || (isResting && !this.isSharp && this.painting !== null);
  }

  /** Goes on with what is unfinished until `deadline` (performance.now()). True: the canvas is to be drawn again. */
  work(camera: Camera, isResting: boolean, deadline: number): boolean {
    if (this.overviewJob) {
      this.overviewJob = advance(this.overviewJob, deadline);
      return this.overviewJob === null;
    }
    if (!isResting || this.isSharp) return false;
    this.sharpJob ??= this.startSharp(camera);
    this.sharpJob = advance(this.sharpJob, deadline);
    return false;
  }

  private target(context: CanvasRenderingContext2D, camera: Camera): Target {
    return { context, camera, view: this.view, ratio: this.ratio };
  }

  private clear(context: CanvasRenderingContext2D, canvas: HTMLCanvasElement): void {
    context.fillStyle = this.painting?.palette.page ?? "#888888";
    context.fillRect(0, 0, canvas.width, canvas.height);
  }

  /** The old picture stays in use until the new one is complete. */
  private startOverview(): void {
    if (!this.painting) return;
    const painting = this.painting;
    const { grid } = painting.scene;
    const largest = LARGEST_PICTURE / Math.max(grid.width, grid.height);
    const scale = Math.min(fitScale(grid, this.view) * this.ratio * FINER, largest);
    const picture = document.createElement("canvas");
    picture.width = Math.max(1, Math.ceil(grid.width * scale));
    picture.height = Math.max(1, Math.ceil(grid.height * scale));
    const context = picture.getContext("2d", { alpha: false });
    if (!context) return;
    this.clear(context, picture);
    const view = { width: grid.width * scale, height: grid.height * scale };
    const target = { context, camera: { x: 0, y: 0, scale }, view, ratio: 1 };
    this.overviewJob = {
      steps: paintBoxes(painting, target),
      done: () => {
        this.overview.width = picture.width;
        this.overview.height = picture.height;
        this.overview.getContext("2d", { alpha: false })?.drawImage(picture, 0, 0);
        this.overviewScale = scale;
      },
    };
  }

  private drawOverview(target: Target): void {
    if (this.overviewScale === 0 || !this.painting) return;
    const { camera, ratio } = target;
    const { grid } = this.painting.scene;
    const { context } = target;
    const scale = camera.scale * ratio;
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "medium";
    context.drawImage(this.overview, -camera.x * scale, -camera.y * scale, grid.width * scale, grid.height * scale);
  }

  private startSharp(camera: Camera): Job {
    this.sharp.width = this.canvas.width;
    this.sharp.height = this.canvas.height;
    const context = this.sharp.getContext("2d", { alpha: false })!;
    this.clear(context, this.sharp);
    const painting = this.painting!;
    const target = this.target(context, camera);
    return {
      steps: inTurn(paintBoxes(painting, target), paintText(painting, target)),
      done: () => {
        this.context.drawImage(this.sharp, 0, 0);
        this.isSharp = true;
      },
    };
  }
}

function* inTurn(...parts: Generator<void>[]): Generator<void> {
  for (const part of parts) yield* part;
}

function finish(steps: Generator<void>): void {
  while (!steps.next().done);
}

/** null: the job is done. */
function advance(job: Job, deadline: number): Job | null {
  do {
    if (job.steps.next().done) {
      job.done();
      return null;
    }
  } while (performance.now() < deadline);
  return job;
}
