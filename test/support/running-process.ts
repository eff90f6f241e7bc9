import { defineImage, type Kernel, type Pid, type Syscalls } from '../../src/index.js';
import { openKernel } from './kernel.js';

type Body = (ctx: Syscalls) => Promise<unknown>;

/** A new kernel with a process that runs `run`; its children may run `child`. */
export async function runningProcess(
  run: Body,
  child: Body = async () => undefined,
): Promise<{ readonly kernel: Kernel; readonly pid: Pid }> {
  const images = [
    defineImage({ name: 'body', run: run as never }),
    defineImage({ name: 'child', run: child as never }),
  ];
  const kernel = await openKernel({ images });
  return { kernel, pid: await kernel.processes.spawn({ image: 'body' }) };
}
