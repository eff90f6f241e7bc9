import { z } from 'zod';
import {
  defineTool,
  externalTool,
  type Kernel,
  type KernelOptions,
  type Pid,
  type ProcessFace,
  type SpawnSpec,
} from '../../src/index.js';
import { type KernelFixture, kernelFixture } from './kernel-fixture.js';

const input = z.looseObject({});
const echo = defineTool({ name: 'echo', description: 'Gives 1.', input, effect: 'pure', run: async () => 1 });
const outside = externalTool({ name: 'outside', description: 'Is run by its caller.', input, effect: 'pure' });

export interface FaceFamily extends KernelFixture {
  readonly face: ProcessFace;
  readonly pid: Pid;
  readonly child: Pid;
  readonly ended: Pid;
  readonly goal: string;
  /** An object of the process itself, named `own`, which may be changed. */
  readonly own: string;
}

/**
 * A process with a live and an ended child, a message in its mailbox, and a capability on tool:echo to hand on. A person answers
 * each question with its first choice, and approves each request.
 */
export async function faceFamily(options: KernelOptions = {}, spec: SpawnSpec = {}): Promise<FaceFamily> {
  const set = await kernelFixture({ ...options, tools: [echo, outside, ...(options.tools ?? [])] });
  const { kernel } = set;
  answerEverything(kernel);
  const capabilities = [
    { resource: 'tool:echo', rights: ['call' as const], delegable: true },
    { resource: 'tool:outside', rights: ['call' as const] },
  ];
  const pid = await kernel.processes.spawn({ capabilities, ...spec });
  const child = await kernel.processes.spawnChild(pid, {});
  const ended = await kernel.processes.spawnChild(pid, {});
  await kernel.processes.exit(ended, { result: 1 });
  await kernel.as(child).send(pid, 'hello');
  const { goal } = await kernel.processes.get(pid);
  const { id: own } = await kernel.memory.create(pid, { type: 'artifact', payload: 1, name: 'own', immutable: false });
  return { ...set, pid, child, ended, goal, own, face: kernel.as(pid) };
}

function answerEverything(kernel: Kernel): void {
  kernel.events.on('question.asked', async ({ data }) => {
    const { id, choices = [] } = await kernel.questions.get(data.question);
    await kernel.questions.answer(id, { answer: choices[0] ?? null, by: 'a person' });
  });
  kernel.events.on('approval.requested', ({ data }) =>
    kernel.approvals.answer(data.approval, { decision: 'once', by: 'a person' }),
  );
}
