import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec } from '../../src/index.js';
import { commandFixture } from '../support/command-fixture.js';
import { refusal } from '../support/kernel.js';

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
});

describe('what is decided on', () => {
  it('is what is run, value for value', async () => {
    const { kernel } = await commandFixture();
    await fc.assert(
      fc.asyncProperty(hostile, async ({ args, env, inherited, stdin }) => {
        const argv = ['node', '-e', script, '--', ...args];
        const effective = withoutKernels({ ...inherited, ...env });
        const isPlain = Object.keys(effective).length === 0;
        const constraints = {
          argv: { eq: argv },
          stdin: { eq: stdin },
          ...(isPlain ? {} : { env: { eq: effective } }),
        };
        const capability = { resource: 'command:node', rights: ['call'], constraints } as CapabilitySpec;
        const pid = await kernel.processes.spawn({ env: inherited, capabilities: [capability] });
        const face = kernel.as(pid);
        const { stdout } = await face.run({ argv, env, stdin });
        const seen = JSON.parse(stdout) as { args: string[]; env: Record<string, string>; stdin: string };
        expect({ ...seen, env: withoutKernels(seen.env), cwd: '' }).toEqual({ args, env: effective, stdin, cwd: '' });
        for (const other of [
          { argv: [...argv, ''], env, stdin },
          { argv, env: { ...env, ONE_MORE: '' }, stdin },
          { argv, env, stdin: `${stdin} ` },
          { argv, env, stdin, survive: true },
        ]) {
          expect((await refusal(face.run(other))).facts).toMatchObject({ code: 'CONSTRAINT' });
        }
      }),
      { numRuns: 25 },
    );
  });
});

function withoutKernels(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([variable]) => !kernelVariables.includes(variable)));
}
