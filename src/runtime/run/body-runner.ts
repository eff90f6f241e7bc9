import { inject, injectable } from 'inversify';
import type { ImageResult } from '../image/image.js';
import type { ParsedImage } from '../image/image-definition.js';
import { runSteps } from '../step/step-list.js';
import { Restarts } from '../supervision/restarts.js';
import { Supervisor } from '../supervision/supervise.js';
import type { Supervision } from '../supervision/supervision.js';
import { BodyContexts, type Syscalls } from './body-context.js';
import { withHandledRejections } from './handled-rejections.js';
import type { Run } from './run.js';

/** What the processes of each form of image do. */
@injectable()
export class BodyRunner {
  constructor(
    @inject(BodyContexts) private readonly faces: BodyContexts,
    @inject(Restarts) private readonly restarts: Restarts,
  ) {}

  async run(run: Run, { run: body, steps, supervision }: ParsedImage): Promise<ImageResult> {
    const ctx = withHandledRejections(this.faces.of(run));
    if (steps !== undefined) return runSteps(ctx, steps);
    const ended = supervision === undefined ? body?.(ctx, run.args as never) : this.supervised(run, ctx, supervision);
    // A body that returns nothing gives undefined.
    return ended as Promise<ImageResult>;
  }

  private supervised(run: Run, ctx: Syscalls, supervision: Supervision): Promise<void> {
    return new Supervisor(supervision, ctx, this.restarts.of(run)).run();
  }
}
