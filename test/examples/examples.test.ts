import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtPackage, repository } from '../support/built-package.js';
import { runExample } from '../support/run-program.js';

const examples = path.join(repository, 'examples');
const hash = /[0-9a-f]{64}/;

beforeAll(() => builtPackage(), 150_000);

describe('the examples', () => {
  it('are all run by this file, and the numbered ones are short', () => {
    const names = readdirSync(examples).sort();
    const numbered = [
      '01-spawn-and-wait.mjs',
      '02-budgets.mjs',
      '03-audit.mjs',
      '04-approvals.mjs',
      '05-durable-steps.mjs',
      '06-tools.mjs',
      '07-mcp.mjs',
      '08-agent.mjs',
    ];
    expect(names).toEqual([...numbered, 'hierarchy.mjs']);
    for (const name of numbered) {
      expect(readFileSync(path.join(examples, name), 'utf8').split('\n').length).toBeLessThan(40);
    }
  });

  it('spawn a child and wait for it', async () => {
    expect(await runExample('01-spawn-and-wait.mjs')).toBe(
      'The child exited with {"sum":5}.\nThe late child ended too: parent_exited.\n',
    );
  });

  it('share one budget', async () => {
    expect((await runExample('02-budgets.mjs')).trimEnd().split('\n')).toEqual([
      'a third child: BUDGET_EXCEEDED (children)',
      '400 more tokens: BUDGET_EXCEEDED (tokens)',
      '1 token beside the reservation: BUDGET_EXCEEDED (tokens)',
      'Used 820 of 1000 tokens, 180 left.',
    ]);
  });

  it('prove, erase, export and verify the record', async () => {
    const lines = (await runExample('03-audit.mjs')).split('\n');
    expect(lines[0]).toMatch(/^Record \d+ of \d+ is in the signed log: true$/);
    expect(lines[1]).toMatch(/^After the erasure the log verifies: true; erased: \d+$/);
    expect(lines[2]).toMatch(/^OK: log l_\w+: \d+ records, \d+ checkpoints, root [0-9a-f]{64}\.$/);
  });

  it('ask a person before a mail goes out', async () => {
    expect((await runExample('04-approvals.mjs')).trimEnd().split('\n')).toEqual([
      'May it call tool:mail to write to ann? once',
      'ann: allow',
      'May it call tool:mail to write to bob? deny',
      'bob: APPROVAL_DENIED',
      'May it call tool:mail to write to eve? deny-always',
      'eve: APPROVAL_DENIED',
      'Next time, eve: DENY_RULE',
      'On record: once by carol, deny by carol, deny-always by carol.',
    ]);
  });

  it('go on with their steps where they were', async () => {
    expect((await runExample('05-durable-steps.mjs')).trimEnd().split('\n')).toEqual([
      'collecting',
      'checking',
      'Opened again: it is paused.',
      'writing',
      'Its result: tides rise, tides fall.',
    ]);
  });

  it('call tools through one gate', async () => {
    expect((await runExample('06-tools.mjs')).trimEnd().split('\n')).toEqual([
      'ann@example.com: {"sent":"ann@example.com"}',
      'eve@example.org: CAPABILITY_DENIED CONSTRAINT',
      '7: INVALID_INPUT',
      'ann@example.com: {"sent":"ann@example.com"}',
      'ann@example.com: BUDGET_EXCEEDED toolCalls',
      'delete everything: CAPABILITY_DENIED NO_CAPABILITY',
      'On record: intent, ok, refused, intent, ok, refused, refused.',
    ]);
  });

  it('call the tools of an MCP server as far as they may', async () => {
    expect((await runExample('07-mcp.mjs')).trimEnd().split('\n')).toEqual([
      'The server has 14 tools, such as mcp/files/read_file.',
      'read_text_file: {"content":"Tides rise."}',
      'read_text_file: CAPABILITY_DENIED CONSTRAINT',
      'write_file: CAPABILITY_DENIED NO_CAPABILITY',
      'read_text_file: {"content":"Tides rise."}',
      'read_text_file: BUDGET_EXCEEDED toolCalls',
    ]);
  });

  it('let a model use the tools that its process may use', async () => {
    expect((await runExample('08-agent.mjs')).trimEnd().split('\n')).toEqual([
      'The model reads: 3 lines',
      'The model reads: CAPABILITY_DENIED, missing tool:publish',
      'It ended after 3 turns: I counted, and may not publish.',
      '300 of 1000 tokens, 1 call, 0 published.',
      'On record: refused, tool:publish, the agent.',
    ]);
  });
});

describe('the hierarchy that npm start runs', () => {
  it('shows the refusals, the tree, the lineage and the verified root, and finds it all again', async () => {
    const told = await runExample('hierarchy.mjs');
    for (const part of [
      'AMPLIFICATION: Process planner cannot give call on tool:publish',
      'researcher-a, call tool:publish: deny (NO_CAPABILITY)',
      "capabilities.grant('researcher-a'",
      'BUDGET_EXCEEDED: The tokens budget of process planner leaves 1000; 2000 was asked.',
      'Cancelled with one signal: checker and link-helper.',
      '   planner exited (completed), 9800 tokens\n   ├─ researcher-a exited (completed), 4000 tokens',
      '      └─ link-helper killed (cancelled: The page has no links), 0 tokens',
      'researcher-a searched with researcher-a ← planner ← the host.',
      'the log is as it was written',
      '6 processes are there; the log verifies and begins with what was signed.',
    ]) {
      expect(told).toContain(part);
    }
    expect(told).toMatch(new RegExp(`root {7}${hash.source}`));
    expect(told).not.toMatch(/p_[0-9a-z]{20}/);
  });
});
