import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createKernel, type JsonObject, type Kernel } from '../../src/index.js';
import { PartReader } from '../support/agent-parts.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { type ChatReply, type ChatRequest, ChatServer } from '../support/integrations/chat-server.js';
import { tempFolder } from '../support/kernel.js';
import { isSweep, runsInSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';

const topics = ['tides', 'winds', 'stars'];
const workers = [...topics, 'edit'];
const expectedNotes = ['lead 1', ...workers.flatMap((name) => [`${name} 1`, `${name} 2`])];
const turnsInAll = 6 + 3 * workers.length;
const kills = runsInSweep(20);

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe.each(['agentImage', 'streamText'])('a team by %s in a program that is killed', (kind) => {
  it('at random moments goes on where it was, and ends with the same result', { timeout: 300_000 }, async () => {
    const agents = new Agents(kind);
    let isDone = false;
    for (let kill = 0; !isDone && kill < kills; kill++) {
      const program = await agents.start();
      const ended = program.waitForLine((line) => line.startsWith('result'));
      isDone = await Promise.race([ended.then(() => true), sleep(Math.random() * (60 + 20 * kill)).then(() => false)]);
      ended.catch(() => undefined);
      if (isDone) await agents.expectResult(program);
      else {
        await program.kill();
        await agents.check();
      }
    }
    if (!isDone) await agents.finish();
  });

  for (const when of ['before', 'after'] as const) {
    it(`${when} a commit, whichever it is, asks no turn again that is completed`, { timeout: 1_800_000 }, async () => {
      // A few of the fault points in every run of the tests, every third of them in a sweep.
      const stride = isSweep ? 3 : 120;
      let points = 0;
      for (let at = Math.ceil(stride / 2); ; at += stride) {
        const agents = new Agents(kind);
        const killed = await agents.start(String(at), when);
        // The last points are in the shutdown, when the result is known: then it was not killed at all.
        if (await killed.waitForEnd()) break;
        points++;
        await agents.check();
        await agents.finish();
      }
      expect(points).toBeGreaterThan(isSweep ? 40 : 1);
    });
  }
});

/** One database, the file of what was noted, and the server that the model is on. */
class Agents {
  private readonly folder = tempFolder();
  private readonly store = join(this.folder, 'agents.db');
  private readonly log = join(this.folder, 'lines.txt');
  private readonly server = new ChatServer(replyOf);
  private readonly url = this.server.listen();
  /** The number of requests for each turn when it was first found completed. */
  private readonly completed = new Map<string, number>();

  constructor(private readonly kind: string) {
    onTestFinished(() => this.server.close());
  }

  async start(...killArgs: string[]): Promise<Program> {
    const program = new Program(
      join(programs, 'agents.js'),
      this.store,
      this.log,
      await this.url,
      this.kind,
      ...killArgs,
    );
    onTestFinished(() => program.kill());
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    await program.waitForLine((line) => line === 'open');
    return program;
  }

  /** Runs it to its end. */
  async finish(): Promise<void> {
    await this.expectResult(await this.start());
  }

  async expectResult(program: Program): Promise<void> {
    const line = await program.waitForLine((text) => text.startsWith('result'));
    expect(JSON.parse(line.slice('result '.length))).toMatchObject({
      text: 'all about edit',
      turns: 6,
      finishReason: 'stop',
    });
    await program.expectSuccess();
    await this.check();
    await this.checkStreams();
  }

  /** Turns that are completed were not asked again, and what may happen once has; what was asked is paid once. */
  async check(): Promise<void> {
    const kernel = await createKernel({ logger: 'silent', store: this.store, node: { executor: false } });
    try {
      const turns = await completedTurns(kernel);
      for (const turn of turns) {
        const times = this.server.requests.filter((request) => turnOf(request) === turn).length;
        if (!this.completed.has(turn)) this.completed.set(turn, times);
        expect(times).toBeGreaterThan(0);
        expect({ turn, times }).toEqual({ turn, times: this.completed.get(turn) });
      }
      expect(new Set(turns).size).toBe(turns.length);
      await this.checkNotes(kernel);
      await checkSpending(kernel, turns.length);
      expect(await findInconsistencies(kernel)).toEqual([]);
    } finally {
      await kernel.shutdown();
    }
  }

  /** A reader who comes when all is over gets every turn once, with the results of its calls. */
  private async checkStreams(): Promise<void> {
    const kernel = await createKernel({ logger: 'silent', store: this.store, node: { executor: false } });
    try {
      for (const { pid, name } of (await kernel.processes.list({ kind: 'agent' })).items) {
        const { parts, done } = new PartReader(kernel, pid);
        await done;
        const turns = name === 'lead' ? 6 : 3;
        const count = (wanted: string) => parts.filter(({ type }) => type === wanted).length;
        expect([name, count('turn-start'), count('turn-end'), count('end')]).toEqual([name, turns, turns, 1]);
        expect([name, count('tool-result')]).toEqual([name, count('tool-call')]);
      }
    } finally {
      await kernel.shutdown();
    }
  }

  private async checkNotes(kernel: Kernel): Promise<void> {
    const lines = this.lines();
    expect(lines).toEqual([...new Set(lines)]);
    const { items } = await kernel.audit.list({ action: 'tool.call', resource: 'tool:note', limit: 1_000 });
    const noted = items.filter(({ outcome }) => outcome === 'ok').length;
    expect(lines.length).toBeGreaterThanOrEqual(noted);
    expect(expectedNotes).toEqual(expect.arrayContaining(lines));
  }

  private lines(): string[] {
    try {
      return readFileSync(this.log, 'utf8').split('\n').slice(0, -1);
    } catch {
      // Nothing has been noted yet.
      return [];
    }
  }
}

/** Every turn costs 42 tokens; the last that is completed may not be charged yet. */
async function checkSpending(kernel: Kernel, turns: number): Promise<void> {
  const [lead] = (await kernel.processes.list({ image: 'lead' })).items;
  if (lead === undefined) return;
  const { tokens } = await kernel.processes.budget(lead.pid);
  expect(tokens.used % 42).toBe(0);
  expect(tokens.used).toBeLessThanOrEqual(42 * turns);
  if (lead.status === 'exited') expect([turns, tokens.used, tokens.reserved]).toEqual([turnsInAll, 42 * turnsInAll, 0]);
}

/** As `turnOf` names them. Processes are named by their goals. */
async function completedTurns(kernel: Kernel): Promise<string[]> {
  const { items } = await kernel.events.list({ types: ['step.completed'], limit: 1_000 });
  const turns: string[] = [];
  for (const { pid = '', data } of items) {
    const step = (data as { name: string }).name;
    if (/^turn \d+$/.test(step)) turns.push(`${(await kernel.processes.get(pid)).name} ${step}`);
  }
  return turns;
}

/** The goal and number of a turn: the first message is the goal, and every earlier turn has left an answer. */
function turnOf({ messages }: ChatRequest): string {
  return `${messages[0]?.content} turn ${1 + messages.filter(({ role }) => role === 'assistant').length}`;
}

/** A child with the authority that it needs, and no more. */
function workerSpec(topic: string): JsonObject {
  const delegate = ['model:local/**', 'tool:note'].map((resource) => ({ resource, rights: ['call'] }));
  return { image: 'worker', name: topic, goal: topic, delegate };
}

/** The model. Its reply depends on the turn alone, whatever became of its calls. */
function replyOf(request: ChatRequest): ChatReply {
  const [goal = '', , turn = ''] = turnOf(request).split(' ');
  const toolResults = request.messages
    .filter(({ role }) => role === 'tool')
    .slice(-topics.length)
    .map(({ content }) => JSON.parse(content ?? ''));
  if (goal !== 'lead') {
    return turn === '3' ? { text: `all about ${goal}` } : { calls: [['note', { line: `${goal} ${turn}` }]] };
  }
  switch (turn) {
    case '1':
      return { calls: topics.map((topic) => ['process_spawn', workerSpec(topic)]) };
    case '2':
      return { calls: toolResults.map(({ pid }) => ['process_wait', { pid }]) };
    case '3':
      return {
        text: toolResults.map(({ value }) => value.text).join(', '),
        calls: [['process_spawn', workerSpec('edit')]],
      };
    case '4':
      return { calls: [['process_wait', { pid: toolResults.at(-1).pid }]] };
    case '5':
      return { text: toolResults.at(-1).value.text, calls: [['note', { line: 'lead 1' }]] };
    default:
      return { text: request.messages.findLast(({ role, content }) => role === 'assistant' && content)?.content ?? '' };
  }
}
