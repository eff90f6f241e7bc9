import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createKernel, type Kernel } from '../../../src/index.js';
import { PartReader } from '../agent-parts.js';
import { ChatServer } from '../integrations/chat-server.js';
import { tempFolder } from '../kernel.js';
import { isSweep, runsInSweep, sweepMs } from '../seeded.js';
import { findInconsistencies } from '../store-consistency.js';
import { Program } from './program.js';
import { type TeamKind, teamKinds, turnOf, workers } from './team-scripts.js';

const expectedNotes = ['lead 1', ...workers.flatMap((name) => [`${name} 1`, `${name} 2`])];
const turnsOfWorker = 3;

/**
 * Tests of a program that runs a team of agents: a lead, three researchers and an editor. `program` gives the arguments of Node.js
 * that start it.
 */
export function testTeam(kind: TeamKind, program: () => readonly string[]): void {
  const isOwn = kind === 'agentImage' || kind === 'streamText';
  const atRandomMoments = 'at random moments goes on where it was, and ends with the same result';
  it.runIf(isOwn || isSweep)(atRandomMoments, { timeout: 600_000 }, async () => {
    const kills = runsInSweep(20);
    const team = new Team(kind, program());
    let isDone = false;
    for (let kill = 0; !isDone && kill < kills; kill++) {
      const running = await team.start();
      const ended = running.waitForLine((line) => line.startsWith('result'));
      isDone = await Promise.race([ended.then(() => true), sleep(Math.random() * (60 + 20 * kill)).then(() => false)]);
      ended.catch(() => undefined);
      if (isDone) await team.expectResult(running);
      else {
        await running.kill();
        await team.check();
      }
    }
    if (!isDone) await team.finish();
  });

  for (const when of ['before', 'after'] as const) {
    it(`${when} a commit, whichever it is, asks no turn again that is completed`, { timeout: 3_600_000 }, async () => {
      let points = 0;
      // The two tests share the time.
      const until = performance.now() + sweepMs / 2;
      for (const at of faultPoints()) {
        if (points > 0 && isSweep && performance.now() > until) break;
        const team = new Team(kind, program());
        const killed = await team.start(String(at.point), when);
        // The last points are in the shutdown, when the result is known: then it was not killed at all.
        if (await killed.waitForEnd()) {
          at.isBeyondEnd = true;
          continue;
        }
        points++;
        await team.check();
        await team.finish();
      }
      expect(points).toBeGreaterThan(0);
    });
  }
}

/**
 * A few of the fault points in every run of the tests. In a sweep every third one: first those that are far from each other, then
 * those between them, for as long as the sweep may last. Whoever finds one beyond the end of the program says so.
 */
function* faultPoints(): Generator<{ readonly point: number; isBeyondEnd: boolean }> {
  const [stride, offsets] = isSweep ? [24, [2, 14, 8, 20, 5, 17, 11, 23]] : [120, [60]];
  for (const offset of offsets) {
    for (let point = offset; ; point += stride) {
      const at = { point, isBeyondEnd: false };
      yield at;
      if (at.isBeyondEnd) break;
    }
  }
}

/** One database, the file of what was noted, and the server that the model is on. */
class Team {
  private readonly folder = tempFolder();
  private readonly store = join(this.folder, 'agents.db');
  private readonly log = join(this.folder, 'lines.txt');
  private readonly server: ChatServer;
  private readonly url: Promise<string>;
  /** The number of requests for each turn when it was first found completed. */
  private readonly completed = new Map<string, number>();

  constructor(
    private readonly kind: TeamKind,
    private readonly program: readonly string[],
  ) {
    this.server = new ChatServer(teamKinds[kind].replyOf);
    this.url = this.server.listen();
    onTestFinished(() => this.server.close());
  }

  async start(...killArgs: string[]): Promise<Program> {
    const args = [this.store, this.log, await this.url, this.kind, ...killArgs];
    const program = new Program(...this.program, ...args);
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
    expect(JSON.parse(line.slice('result '.length))).toMatchObject({ text: 'all about edit' });
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
      await checkSpending(kernel, turns.length, this.leadTurns);
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
        const turns = name === 'lead' ? this.leadTurns : turnsOfWorker;
        const count = (wanted: string) => parts.filter(({ type }) => type === wanted).length;
        expect([name, count('turn-start'), count('turn-end'), count('end')]).toEqual([name, turns, turns, 1]);
        expect([name, count('tool-result')]).toEqual([name, count('tool-call')]);
      }
    } finally {
      await kernel.shutdown();
    }
  }

  private get leadTurns(): number {
    return teamKinds[this.kind].leadTurns;
  }

  private async checkNotes(kernel: Kernel): Promise<void> {
    const lines = this.lines();
    expect(lines).toEqual([...new Set(lines)]);
    const { items } = await kernel.audit.list({
      action: 'tool.call',
      resource: `tool:${teamKinds[this.kind].note}`,
      limit: 1_000,
    });
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
async function checkSpending(kernel: Kernel, turns: number, leadTurns: number): Promise<void> {
  const lead = (await kernel.processes.list({ kind: 'agent' })).items.find(({ name }) => name === 'lead');
  if (lead === undefined) return;
  const { tokens } = await kernel.processes.budget(lead.pid);
  expect(tokens.used % 42).toBe(0);
  expect(tokens.used).toBeLessThanOrEqual(42 * turns);
  if (lead.status !== 'exited') return;
  const all = leadTurns + turnsOfWorker * workers.length;
  expect([turns, tokens.used, tokens.reserved]).toEqual([all, 42 * all, 0]);
}

/** As `turnOf` names them: processes are named by their goals, and their turns are counted. */
async function completedTurns(kernel: Kernel): Promise<string[]> {
  const { items } = await kernel.events.list({ types: ['step.completed'], limit: 1_000 });
  const counts = new Map<string, number>();
  const turns: string[] = [];
  for (const { pid = '', data } of items) {
    if (!/^turn(?: \d+)?$/.test(data.name)) continue;
    counts.set(pid, (counts.get(pid) ?? 0) + 1);
    turns.push(`${(await kernel.processes.get(pid)).name} turn ${counts.get(pid)}`);
  }
  return turns;
}
