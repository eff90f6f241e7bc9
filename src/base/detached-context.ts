import { AsyncResource } from 'node:async_hooks';

/**
 * The asynchronous context that this object was created in. Work that is started by the call of somebody else, such as the
 * commit that made a process runnable, is run in it, so that it is not taken for a part of that call.
 */
export class DetachedContext {
  private readonly resource = new AsyncResource('procura.DetachedContext');

  run<T>(work: () => T): T {
    return this.resource.runInAsyncScope(work);
  }
}
