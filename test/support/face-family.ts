import { z } from 'zod';
import { defineTool, type KernelOptions, type Pid, type ProcessFace, type SpawnSpec } from '../../src/index.js';
import { type KernelFixture, kernelFixture } from './kernel-fixture.js';

const input = z.looseObject({});
const echo = defineTool({ name: 'echo', description: 'Gives 1.', input, effect: 'pure', run: async () => 1 });

export interface FaceFamily extends KernelFixture {
  readonly face: ProcessFace;
  readonly pid: Pid;
  readonly child: Pid;
  readonly ended: Pid;
  readonly goal: string;
}

/** A process with a live and an ended child, a message in its mailbox, and a capability on tool:echo to hand on. */
export async function faceFamily(options: KernelOptions = {}, spec: SpawnSpec = {}): Promise<FaceFamily> {
  const set = await kernelFixture({ ...options, tools: [echo, ...(options.tools ?? [])] });
  const { kernel } = set;
  const capabilities = [{ resource: 'tool:echo', rights: ['call' as const], delegable: true }];
  const pid = await kernel.processes.spawn({ capabilities, ...spec });
  const child = await kernel.processes.spawnChild(pid, {});
  const ended = await kernel.processes.spawnChild(pid, {});
  await kernel.processes.exit(ended, { result: 1 });
  await kernel.as(child).send(pid, 'hello');
  const { goal } = await kernel.processes.get(pid);
  return { ...set, pid, child, ended, goal, face: kernel.as(pid) };
}
