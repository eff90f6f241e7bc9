import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createKernel } from '../../src/index.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

it('kernels that name one file by different paths take turns on it', async () => {
  const folder = tempFolder();
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'linked'));
  const first = await openKernel({ store: join(folder, 'real', 'a.db') });
  symlinkSync(join(folder, 'real', 'a.db'), join(folder, 'direct.db'));
  const second = await openKernel({ store: join(folder, 'linked', 'a.db') });
  const third = await openKernel({ store: join(folder, 'direct.db') });
  const kernels = [first, second, third];
  const root = await first.processes.spawn({ budget: { children: 90 } });
  const spawn = (n: number) => kernels[n % 3]?.processes.spawnChild(root, {});
  expect(new Set(await Promise.all(Array.from({ length: 90 }, (_, n) => spawn(n)))).size).toBe(90);
  for (const kernel of kernels) {
    expect(await kernel.processes.children(root)).toHaveLength(90);
    expect(await findInconsistencies(kernel)).toEqual([]);
  }
});

it('one database has one signing key, whichever link it was opened by', async () => {
  const folder = tempFolder();
  const file = join(folder, 'a.db');
  const direct = await createKernel({ logger: 'silent', store: file });
  await direct.processes.spawn({});
  const first = await direct.audit.checkpoint();
  await direct.shutdown();
  symlinkSync(file, join(folder, 'link.db'));
  const linked = await openKernel({ store: join(folder, 'link.db') });
  await linked.processes.spawn({});
  expect((await linked.audit.checkpoint()).key).toBe(first.key);
  expect(readdirSync(folder).filter((name) => name.startsWith('link'))).toEqual(['link.db']);
});
