import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createKernel, type Kernel } from '../../../src/index.js';

/** A running kernel with a small process tree, on the database that the command opens too. */
export interface Team {
  readonly kernel: Kernel;
  readonly folder: string;
  readonly store: string;
  readonly planner: string;
  readonly researcher: string;
  close(): Promise<void>;
}

export async function openTeam(): Promise<Team> {
  const folder = mkdtempSync(path.join(tmpdir(), 'procura-cli-'));
  const store = path.join(folder, 'team.db');
  const kernel = await createKernel({ logger: 'silent', durability: 'normal', store, workspace: folder });
  const planner = await kernel.processes.spawn({
    name: 'planner',
    labels: { team: 'blue' },
    capabilities: [{ resource: 'tool:search', rights: ['call'], delegable: true }],
    budget: { tokens: 100 },
  });
  const researcher = await kernel.processes.spawnChild(planner, {
    name: 'researcher',
    delegate: [{ resource: 'tool:search', rights: ['call'] }],
  });
  await kernel.processes.charge(researcher, { tokens: 40 });
  const close = async () => {
    await kernel.shutdown();
    rmSync(folder, { recursive: true, force: true });
  };
  return { kernel, folder, store, planner, researcher, close };
}
