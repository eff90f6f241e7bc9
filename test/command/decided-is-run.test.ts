import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec } from '../../src/index.js';
import { commandFixture } from '../support/command-fixture.js';
import { refusal } from '../support/kernel.js';
import { runsInSweep } from '../support/seeded.js';

const script =
  "const{argv,env}=process;let stdin='';process.stdin.on('data',d=>{stdin+=d}).on('end',()=>" +
  'process.stdout.write(JSON.stringify({args:argv.slice(1),env,stdin,cwd:process.cwd()})))';
const kernelVariables = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TERM', 'PROCURA_TOKEN', '__CF_USER_TEXT_ENCODING'];

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((value) => value.replaceAll('\0', '').toWellFormed()),
  fc.constantFrom(
    '',
    ' ',
    '$(id)',
    '`id`',
    ';id',
    '--',
    '-c',
    '../..',
    '%00',
    '\n',
    '"',
    "'",
    '\u202e',
    '{"secret":"X"}',
  ),
);
const name = fc.oneof(
  fc.constantFrom('BASH_ENV', 'LD_LIBRARY_PATH_X', 'GIT_SSH_COMMAND', 'constructor', 'toString', 'hasOwnProperty', '_'),
  fc
    .stringMatching(/^[A-Z_][A-Z0-9_]{0,12}$/)
    .filter((variable) => !kernelVariables.includes(variable) && !/^(NODE|LD_|PROCURA|SSL)/.test(variable)),
);

/** A command, and what a capability that allows exactly this one compares with. */
const hostile = fc.record({
  args: fc.array(text, { maxLength: 5 }),
  env: fc.dictionary(name, text, { minKeys: 1, maxKeys: 4 }).map((variables) => ({ ...variables })),
  inherited: fc.dictionary(name, text, { maxKeys: 3 }).map((variables) => ({ ...variables })),
  stdin: text,
  cwd: fc.constantFrom('.', './a', 'a/../b', 'a//deep', 'b/link', './b/link/deep/..'),
  timeoutMs: fc.constantFrom(29_000, 600_000),
});
/** The folders as they are decided on, and where they lead. */
const folders: Readonly<Record<string, readonly [decided: string, real: string]>> = {
  '.': ['.', '.'],
  './a': ['a', 'a'],
  'a/../b': ['b', 'b'],
  'a//deep': ['a/deep', 'a/deep'],
  'b/link': ['b/link', 'a'],
  './b/link/deep/..': ['b/link', 'a'],
};

describe('what is decided on', () => {
  it('is what is run, value for value', async () => {
    const { kernel, workspace } = await commandFixture();
    for (const folder of ['a/deep', 'b']) mkdirSync(path.join(workspace, folder), { recursive: true });
    symlinkSync('../a', path.join(workspace, 'b/link'));
    await fc.assert(
      fc.asyncProperty(hostile, async ({ args, env, inherited, stdin, cwd, timeoutMs }) => {
        const argv = ['node', '-e', script, '--', ...args];
        const effective = withoutKernels({ ...inherited, ...env });
        const isPlain = Object.keys(effective).length === 0;
        const constraints = {
          argv: { eq: argv },
          stdin: { eq: stdin },
          cwd: { in: folders[cwd] ?? [] },
          timeoutMs: { eq: timeoutMs },
          ...(isPlain ? {} : { env: { eq: effective } }),
        };
        const capability = { resource: 'command:node', rights: ['call'], constraints } as CapabilitySpec;
        const pid = await kernel.processes.spawn({
          env: inherited,
          capabilities: [capability, { resource: 'fs:**', rights: ['read'] }],
        });
        const face = kernel.as(pid);
        const command = { argv, env, stdin, cwd, timeoutMs };
        const { stdout } = await face.run(command);
        const seen = JSON.parse(stdout) as { args: string[]; env: Record<string, string>; stdin: string; cwd: string };
        const folder = path.join(realpathSync(workspace), folders[cwd]?.[1] ?? '');
        expect({ ...seen, env: withoutKernels(seen.env) }).toEqual({ args, env: effective, stdin, cwd: folder });
        for (const other of [
          { ...command, argv: [...argv, ''] },
          { ...command, env: { ...env, ONE_MORE: '' } },
          { ...command, stdin: `${stdin} ` },
          { ...command, cwd: cwd === 'a/../b' ? 'a' : 'b' },
          { ...command, timeoutMs: timeoutMs + 1 },
          { ...command, survive: true },
          { ...command, background: true },
          { ...command, envMode: 'patch' } as const,
        ]) {
          expect((await refusal(face.run(other))).facts).toMatchObject({ code: 'CONSTRAINT' });
        }
      }),
      { numRuns: runsInSweep(125) },
    );
  }, 120_000);
});

function withoutKernels(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([variable]) => !kernelVariables.includes(variable)));
}
