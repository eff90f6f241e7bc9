import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';

/** What `exit` and `exec` reject with after their commit: the run is over, and whatever the body still does is refused. */
export class RunEnded extends ProcessError {
  constructor(pid: Pid) {
    super('RUN_ENDED', `This run of process ${pid} is over.`, {
      facts: { pid },
      hint: 'Let it pass: nothing is to be done after exit or exec.',
    });
  }
}
