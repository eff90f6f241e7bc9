import { inject, injectable } from 'inversify';
import type { ImageResult } from './image.js';
import type { ParsedImage } from './image-definition.js';
import type { Run } from './run.js';
import { runSteps } from './step-list.js';
import { SyscallFaces } from './syscalls.js';

/** What the processes of each form of image do. */
@injectable()
export class Bodies {
  constructor(@inject(SyscallFaces) private readonly faces: SyscallFaces) {}

  async run(run: Run, { run: body, steps }: ParsedImage): Promise<ImageResult> {
    const ctx = this.faces.of(run);
    if (steps !== undefined) return runSteps(ctx, steps);
    return body?.(ctx, run.args as never);
  }
}
