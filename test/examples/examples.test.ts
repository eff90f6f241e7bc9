import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../support/kernel.js';
import { compiledPrograms, examples, readText, runProgram } from '../support/page-programs.js';
import { providePostgres } from '../support/postgres-server.js';
import { withClient } from '../support/postgres-template.js';

const hash = /[0-9a-f]{64}/;

beforeAll(() => compiledPrograms(), 300_000);

/** The lines that an example prints. It is compiled against the packed package. */
async function linesOf(name: string): Promise<string[]> {
  return (await runProgram(`examples/${name}.ts`)).trimEnd().split('\n');
}

describe('the examples', () => {
  it('are all run by this file; the numbered ones are short, and the shortest come first', () => {
    const numbered = [
      '01-run-an-image',
      '02-spawn-and-wait',
      '03-capabilities',
      '04-audit',
      '05-budgets',
      '06-approvals',
      '07-tools',
      '08-agent',
      '09-durable-steps',
      '10-mcp',
      '11-chat-agent',
      '12-research-team',
      '13-governed-loop',
      '14-questions',
      '15-langchain-team',
      '16-openai-agents-team',
      '17-claude-agent',
      '18-two-nodes',
    ].map((name) => `examples/${name}.ts`);
    expect(examples).toEqual([...numbered, 'examples/hierarchy.ts']);
    // Those of whole teams are longer.
    const short = numbered.filter((name) => !/team|loop/.test(name));
    const lengths = short.map((name) => readText(name).trimEnd().split('\n').length);
    expect(lengths).toEqual([...lengths].sort((a, b) => a - b));
    expect(Math.max(...lengths)).toBeLessThan(45);
  });

  it('run an image with typed arguments and a typed result', async () => {
    expect(await linesOf('01-run-an-image')).toEqual(['The square of 3 is 9.']);
  });

  it('spawn children and wait for them', async () => {
    expect(await linesOf('02-spawn-and-wait')).toEqual([
      'The sum is 14.',
      'square@1 exited, square@1 exited, square@1 exited',
    ]);
  });

  it('explain what a capability allows', async () => {
    expect(await linesOf('03-capabilities')).toEqual([
      'tool:search: allow (ALLOWED)',
      '  by a chain of 2 capabilities, the first granted by the host',
      'tool:publish: deny (NO_CAPABILITY)',
      "  Delegate it from a process that holds it, or grant it: capabilities.grant('RESEARCHER', { resource: 'tool:publish', rights: ['call'] }).",
      'AMPLIFICATION: the planner may use tool:publish, but not delegate it',
      'REVOKED',
    ]);
  });

  it('prove, erase, export and verify the audit log', async () => {
    const lines = await linesOf('04-audit');
    expect(lines[0]).toMatch(/^Record \d+ of \d+ is in the signed log: true$/);
    expect(lines[1]).toMatch(/^After the erasure the log verifies: true; erased: \d+$/);
    expect(lines[2]).toMatch(/^OK: log l_\w+: \d+ records, \d+ checkpoints, root [0-9a-f]{64}\.$/);
  });

  it('share one budget', async () => {
    expect(await linesOf('05-budgets')).toEqual([
      'a third child: BUDGET_EXCEEDED (children)',
      '400 more tokens: BUDGET_EXCEEDED (tokens)',
      '1 token besides the reservation: BUDGET_EXCEEDED (tokens)',
      'Used 820 of 1000 tokens, 180 left.',
    ]);
  });

  it('ask a person before a mail goes out', async () => {
    expect(await linesOf('06-approvals')).toEqual([
      'May it call tool:mail with {"to":"ann"}? once',
      'ann: allow',
      'May it call tool:mail with {"to":"bob"}? deny',
      'bob: APPROVAL_DENIED',
      'May it call tool:mail with {"to":"eve"}? deny-always',
      'eve: APPROVAL_DENIED',
      'Next time, eve: DENY_RULE',
    ]);
  });

  it('call tools through one gate', async () => {
    expect(await linesOf('07-tools')).toEqual([
      'sent to ann@example.com',
      'CAPABILITY_DENIED CONSTRAINT',
      'sent to ann@example.com',
      'BUDGET_EXCEEDED toolCalls',
      'INVALID_INPUT',
      'CAPABILITY_DENIED NO_CAPABILITY',
      'On record: intent, ok, refused, intent, ok, refused, refused.',
    ]);
  });

  it('let a model use the tools that its process may use', async () => {
    expect(await linesOf('08-agent')).toEqual([
      'The model was called 3 times.',
      'It ended after 3 turns: I counted, and may not publish.',
      expect.stringMatching(/^It used \d+ of 1000 tokens, and made 1 tool call\.$/),
      'On record as refused: tool:publish.',
    ]);
  });

  it('continue their steps after a restart', async () => {
    expect(await linesOf('09-durable-steps')).toEqual([
      'collecting',
      'checking',
      'Opened again: the process is paused.',
      'writing',
      'Its result: tides rise, tides fall.',
    ]);
  });

  it('call the tools of an MCP server as far as they may', async () => {
    expect(await linesOf('10-mcp')).toEqual([
      'The server has 14 tools, such as mcp/files/read_file.',
      'read_text_file: {"content":"Tides rise."}',
      'read_text_file: CAPABILITY_DENIED CONSTRAINT',
      'write_file: CAPABILITY_DENIED NO_CAPABILITY',
      'read_text_file: {"content":"Tides rise."}',
      'read_text_file: BUDGET_EXCEEDED toolCalls',
    ]);
  });

  it('make agents of LangChain a team of processes', async () => {
    expect(await linesOf('15-langchain-team')).toEqual([
      'I found: tides rise.',
      'I found: winds rise.',
      'I found: stars rise.',
      '3 notes edited. I may not publish.',
      'researcher@1 calls search {"topic":"tides"}',
      '  tides rise',
      'On record as refused: tool:web.publish.',
    ]);
  });

  it('run a team of OpenAI Agents', async () => {
    expect(await linesOf('16-openai-agents-team')).toEqual([
      'The report is edited, and I may not publish it.',
      'researcher: completed',
      'researcher: completed',
      'researcher: completed',
      'editor: completed',
      'turn 1: ask Found: tides rise.',
      'turn 1: ask Found: winds rise.',
      'turn 1: ask Found: stars rise.',
      'turn 2: edit All of it rises.',
      'turn 3: publish refused',
      'On record as refused: tool:web.publish.',
    ]);
  });

  it('give a coding agent the tools of a process, and no others', async () => {
    expect(await linesOf('17-claude-agent')).toEqual([
      'tool_fs_read: allowed true',
      'tool_fs_delete: refused false',
      'Read: allow',
      'Bash: deny',
    ]);
  });
});

describe('the example of two nodes', () => {
  const finished = /^Collected by (left|right), which was killed, and written by (?!\1)(left|right)\.\n$/;

  it('has one finish what the other had begun, on a file', async () => {
    expect(await runProgram('examples/18-two-nodes.ts')).toMatch(finished);
  });

  it('has one finish what the other had begun, on a database server', async () => {
    const server = await providePostgres();
    onTestFinished(() => server.stop());
    const url = new URL(server.url);
    url.searchParams.set('schema', `example_${process.pid}`);
    const env = { PROCURA_STORE: url.href, XDG_STATE_HOME: tempFolder() };
    expect(await runProgram('examples/18-two-nodes.ts', env)).toMatch(finished);
    await withClient(server.url, (client) => client.query(`DROP SCHEMA example_${process.pid} CASCADE`));
  });
});

describe('the example of people in the loop', () => {
  it('asks a question that an answer has to fit, and sends what a person has edited', async () => {
    expect(await linesOf('14-questions')).toEqual([
      'Who is to know? friends: INVALID_INPUT',
      '{"list":"everybody","text":"We close at FIVE!!!"}',
      'to everybody: We close at five.',
    ]);
  });
});

describe('the examples of agents', () => {
  it('chat, and go on with the conversation after a restart', async () => {
    expect(await linesOf('11-chat-agent')).toEqual([
      'Hello, Ann. [15 tokens]',
      '(user: My name is Ann.)',
      '(assistant: Hello, Ann.)',
      'You are Ann. [15 tokens]',
    ]);
  });

  it('work as a team of agents', async () => {
    expect(await linesOf('12-research-team')).toEqual([
      'Edited: facts on tides; facts on winds; facts on stars.',
      '5 turns of the lead, 180 tokens in all.',
      'researcher@1: completed',
      'researcher@1: completed',
      'researcher@1: completed',
      'editor@1: completed',
    ]);
  });

  it('work as a team of loops with governed models', async () => {
    expect(await linesOf('13-governed-loop')).toEqual([
      'Edited: Found facts on tides. Found facts on winds. Found facts on stars.',
      'turn 1: turn-start',
      'turn 1: tool-call',
      'turn 1: turn-end',
      'turn 1: tool-result',
      'turn 2: turn-start',
      'turn 2: text',
      'turn 2: turn-end',
      'turn 2: end',
      '105 tokens in all.',
    ]);
  });
});

describe('the hierarchy that npm start runs', () => {
  it('shows the refusals, the tree, the lineage and the verified root, and finds it all again', async () => {
    const output = await runProgram('examples/hierarchy.ts');
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
      expect(output).toContain(part);
    }
    expect(output).toMatch(new RegExp(`root {7}${hash.source}`));
    expect(output).not.toMatch(/p_[0-9a-z]{20}/);
  });
});
