import { inject, injectable } from 'inversify';
import type { ImageResult } from '../image/image.js';
import type { ParsedImage } from '../image/image-definition.js';
import { runSteps } from '../step/step-list.js';
import { Supervisors } from '../supervision/supervisor.js';
import { BodyContexts } from './body-context.js';
import type { Run } from './run.js';
import { withHandledRejections } from './unhandled-rejections.js';

/** Runs the body that an image has: its steps, its supervisor, or its function. */
@injectable()
export class BodyRunner {
  constructor(
    @inject(BodyContexts) private readonly contexts: BodyContexts,
    @inject(Supervisors) private readonly supervisors: Supervisors,
  ) {}

  async run(run: Run, { run: body, steps, supervision, events }: ParsedImage): Promise<ImageResult> {
    const ctx = withHandledRejections(this.contexts.of(run, events));
    if (steps !== undefined) return runSteps(ctx, steps);
    if (supervision !== undefined) {
      await this.supervisors.run(run, ctx, supervision);
      return undefined;
    }
    return (await body?.(ctx, run.args as never)) as ImageResult;
  }
}
