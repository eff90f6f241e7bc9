import { type Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { Kernel, KernelOptions, Pid, SpawnSpec } from '../../../src/index.js';
import { type ServedProcess, type ServeOptions, serveProcess } from '../../../src/integrations/mcp-server/index.js';
import { openKernel } from '../kernel.js';
import { newClient } from './mcp-client.js';

export interface Served {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly client: Client;
  readonly served: ServedProcess;
}

/** A process of a new kernel with a client that is connected to it within this program. */
export async function served(spec: SpawnSpec = {}, options: KernelOptions = {}): Promise<Served> {
  const kernel = await openKernel(options);
  const pid = await kernel.processes.spawn(spec);
  return { kernel, pid, ...(await connected(kernel, pid)) };
}

export async function connected(kernel: Kernel, pid: Pid, options: ServeOptions = {}, client = newClient()) {
  const [there, here] = InMemoryTransport.createLinkedPair();
  const process = serveProcess(kernel.as(pid), { ...options, transport: there });
  onTestFinished(() => process.close());
  await client.connect(here);
  return { client, served: process };
}
