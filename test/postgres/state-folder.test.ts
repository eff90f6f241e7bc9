import { existsSync, linkSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject, Kernel, Pid } from '../../src/index.js';
import { openKernel, refusal, tempFolder } from '../support/kernel.js';
import { callTools, everyRight } from '../support/tools/file-fixture.js';

interface Opened {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly workspace: string;
  /** The state folder of the log, below the workspace. */
  readonly folder: string;
}

/** A kernel whose state folder has its default place, in a home that lies in the workspace. */
async function openInWorkspace(): Promise<Opened> {
  const workspace = tempFolder();
  const { XDG_STATE_HOME: before } = process.env;
  onTestFinished(() => {
    process.env.XDG_STATE_HOME = before;
  });
  process.env.XDG_STATE_HOME = join(workspace, 'state');
  const kernel = await openKernel({ workspace, node: { executor: false } });
  const [log = ''] = readdirSync(join(workspace, 'state/procura'));
  const pid = await kernel.processes.spawn({
    capabilities: [callTools, { resource: 'fs:**', rights: [...everyRight] }],
  });
  return { kernel, pid, workspace, folder: `state/procura/${log}` };
}

it('the state folder is for its owner only', async () => {
  const { workspace, folder } = await openInWorkspace();
  expect(statSync(join(workspace, folder)).mode & 0o777).toBe(0o700);
  expect(existsSync(join(workspace, folder, 'key'))).toBe(true);
});

it('no built-in tool opens what lies in it, and no process works there, under any name', async () => {
  const { kernel, pid, workspace, folder } = await openInWorkspace();
  symlinkSync(folder, join(workspace, 'to-folder'));
  linkSync(join(workspace, folder, 'key'), join(workspace, 'to-key'));
  const face = kernel.as(pid);
  const calls: [tool: string, args: JsonObject][] = [
    folder,
    `${folder}/key`,
    'to-folder',
    'to-folder/key',
    'to-key',
  ].flatMap((path) => [
    ['fs.read', { path }],
    ['fs.stat', { path }],
    ['fs.list', { path }],
    ['fs.delete', { path }],
    ['fs.write', { path, content: 'mine' }],
    ['fs.search', { path, pattern: 'e' }],
  ]);
  for (const [tool, args] of calls) {
    const { code } = await refusal(face.tools.call(tool, args));
    expect([tool, args.path, code]).toEqual([
      tool,
      args.path,
      expect.stringMatching(/^(CAPABILITY_DENIED|INVALID_PATH)$/),
    ]);
  }
  for (const path of [folder, 'to-folder'])
    expect((await refusal(face.chdir(path))).code).toMatch(/DENIED|INVALID_PATH/);
  expect((await kernel.audit.verify()).ok).toBe(true);
});
