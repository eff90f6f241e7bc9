import { onAbort } from './on-abort.js';

/** Settles as `work` does, or rejects with the signal's reason when it aborts first; for work that takes no signal. */
export async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let listener: Disposable | undefined;
  const aborted = new Promise<never>((_, reject) => {
    listener = onAbort(signal, () => reject(signal.reason));
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    listener?.[Symbol.dispose]();
  }
}
