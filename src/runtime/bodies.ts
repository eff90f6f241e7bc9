import { inject, injectable } from 'inversify';
import { attended } from './attended.js';
import type { ImageResult } from './image.js';
import type { ParsedImage } from './image-definition.js';
import { Restarts } from './restarts.js';
import type { Run } from './run.js';
import { runSteps } from './step-list.js';
import { Supervisor } from './supervise.js';
import { SyscallFaces } from './syscalls.js';

/** What the processes of each form of image do. */
@injectable()
export class Bodies {
  constructor(
    @inject(SyscallFaces) private readonly faces: SyscallFaces,
    @inject(Restarts) private readonly restarts: Restarts,
  ) {}

  async run(run: Run, { run: body, steps, supervision }: ParsedImage): Promise<ImageResult> {
    const ctx = attended(this.faces.of(run));
    if (steps !== undefined) return runSteps(ctx, steps);
    if (supervision !== undefined) return new Supervisor(supervision, ctx, this.restarts.of(run)).run();
    return body?.(ctx, run.args as never);
  }
}
