import { KernelError } from '../../src/index.js';

/** The value of `call`; undefined when the kernel refuses it. */
export async function attempt<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof KernelError) return undefined;
    throw error;
  }
}
