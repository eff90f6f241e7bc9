import { type Kernel, Store } from '../../../src/index.js';
import { killAtWrite } from './fault-point.js';
import { print, stopListening } from './stdio.js';

/**
 * Runs the lead of a team on a kernel that has its images and tools, prints the result, and closes the kernel. The program is killed
 * before or after the write with the number `killAt`, unless that is empty.
 */
export async function runTeam(kernel: Kernel, killAt: string, when: string): Promise<void> {
  await kernel.start();
  if (killAt !== '') killAtWrite(kernel.container.get(Store), Number(killAt), when);
  print('open');
  const pid = await kernel.processes.spawn({
    id: 'agents',
    image: 'lead',
    name: 'lead',
    goal: 'lead',
    capabilities: ['model:**', 'tool:**'].map((resource) => ({ resource, rights: ['call'] as const, delegable: true })),
  });
  const { value, outcome } = await kernel.processes.result(pid);
  print(`result ${JSON.stringify(value ?? outcome)}`);
  await kernel.shutdown();
  stopListening();
}
