import { renameSync, rmdirSync } from 'node:fs';
import { createKernel, type Pid } from '../../../src/index.js';
import { newStore, tempFolder } from '../kernel.js';

export interface OldLayout {
  readonly store: string;
  /** The id of the signing key. */
  readonly key: string;
  /** A command that has written `kept`. */
  readonly command: Pid;
}

/** A closed store with key, checkpoints and output beside the database, where earlier releases kept them. */
export async function oldLayout(): Promise<OldLayout> {
  const store = await newStore();
  const kernel = await createKernel({ logger: 'silent', store, workspace: tempFolder() });
  const pid = await kernel.processes.spawn({
    capabilities: [{ resource: 'command:**', rights: ['call'] }],
    budget: { children: 1 },
  });
  await kernel.as(pid).run({ argv: ['echo', 'kept'] });
  const [command] = await kernel.processes.children(pid);
  if (command === undefined) throw new Error('there is no command');
  const { key } = await kernel.audit.checkpoint();
  await kernel.shutdown();
  for (const name of ['key', 'checkpoints', 'output']) renameSync(`${store}.state/${name}`, `${store}.${name}`);
  rmdirSync(`${store}.state`);
  return { store, key, command: command.pid };
}
