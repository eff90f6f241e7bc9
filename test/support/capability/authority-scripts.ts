import fc from 'fast-check';
import type {
  CapabilitySpec,
  DelegationSpec,
  JsonObject,
  Kernel,
  ObjectHandle,
  Pid,
  Right,
  RuleSpec,
} from '../../../src/index.js';
import { attempt } from '../attempt.js';
import type { manualClock } from '../kernel-fixture.js';
import { pick } from '../pick.js';

export const stepKinds = [
  ...(['spawnChild', 'fork', 'grant', 'delegate', 'derive', 'transfer', 'revoke', 'deny', 'ask', 'lift'] as const),
  ...(['require', 'answer', 'exit', 'leaveResult', 'exec', 'tick', 'prune'] as const),
];
export type StepKind = (typeof stepKinds)[number];

/** One change of authority, as small numbers that say what it is done with. */
export interface Step {
  readonly kind: StepKind;
  readonly picks: readonly number[];
  /** The index of the kernel that does it. */
  readonly by: number;
  /** It runs together with the step that follows. */
  readonly isWithNext: boolean;
  /** Checks run at the same time. */
  readonly isWatched: boolean;
  /** The turns of the event loop that it waits before it starts. */
  readonly lead: number;
}

const frequencies: Partial<Record<StepKind, number>> = {
  grant: 4,
  delegate: 6,
  require: 3,
  revoke: 2,
  spawnChild: 2,
  answer: 3,
  ask: 2,
  lift: 2,
  transfer: 3,
  derive: 2,
  leaveResult: 2,
};

export const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...stepKinds.flatMap((kind) => Array.from({ length: frequencies[kind] ?? 1 }, () => kind))),
  picks: fc.array(fc.nat(999), { minLength: 6, maxLength: 6 }),
  by: fc.nat(1),
  isWithNext: fc.nat(5).map((pick) => pick === 5),
  isWatched: fc.boolean(),
  lead: fc.nat(9),
});

export const scripts: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 28, size: 'max' });

const patterns = ['tool:**', 'tool:a', 'tool:a/**', 'tool:*', 'tool:*/b', 'tool:a/b', 'tool:a/b/a', 'tool:a/*/a'];
const tools = ['tool:a', 'tool:b', 'tool:a/b', 'tool:a/b/a'];
const processesMax = 6;

/** The processes, capabilities and rules that the steps of a script act upon. */
export class ScriptActors {
  readonly pids: Pid[] = [];
  private readonly capabilities: string[] = [];
  private readonly rules: string[] = [];
  /** The results of ended children. */
  readonly results: ObjectHandle[] = [];

  constructor(private readonly clock: ReturnType<typeof manualClock>) {}

  async begin(kernel: Kernel): Promise<void> {
    const capabilities: CapabilitySpec[] = [
      { resource: 'tool:**', rights: ['call'], delegable: true },
      { resource: 'tool:a/**', rights: ['call'], delegable: true, uses: 3 },
    ];
    const root = await kernel.processes.spawn({ image: 'worker', capabilities });
    const child = await kernel.processes.spawnChild(root, { image: 'worker', onParentExit: 'reparent' });
    const other = await kernel.processes.spawn({ image: 'worker', capabilities: capabilities.slice(1) });
    this.pids.push(root, child, other);
    for (const pid of this.pids) {
      const held = await kernel.capabilities.list(pid);
      this.capabilities.push(...held.flatMap(({ id, resource }) => (resource.startsWith('tool:') ? [id] : [])));
    }
  }

  /** Returns whether the step was done; a refusal is a valid outcome. */
  async run(kernel: Kernel, { kind, picks }: Step): Promise<boolean> {
    return (await attempt(this[kind](kernel, picks))) ?? false;
  }

  /** Lifts all rules, which might bind the processes of the next script. */
  async end(kernel: Kernel): Promise<void> {
    for (const { id } of await kernel.capabilities.rules()) await kernel.capabilities.lift(id);
  }

  private async spawnChild({ processes }: Kernel, picks: Picks): Promise<boolean> {
    if (this.pids.length >= processesMax) return false;
    const [parent, at = 0, handed = 0] = picks;
    const onParentExit = pick(['reparent', 'detach', 'cancel'] as const, at);
    const delegate = handed % 2 === 0 ? [] : [this.stated(picks)];
    this.pids.push(await processes.spawnChild(this.pid(parent), { image: 'worker', onParentExit, delegate }));
    return true;
  }

  private async fork({ processes }: Kernel, [parent]: Picks): Promise<boolean> {
    if (this.pids.length >= processesMax) return false;
    this.pids.push(await processes.fork(this.pid(parent), { onParentExit: 'reparent' }));
    return true;
  }

  private async grant({ capabilities }: Kernel, picks: Picks): Promise<boolean> {
    const { from: _from, ...spec } = this.stated(picks);
    return this.remember(await capabilities.grant(this.pid(picks[0]), { ...spec, delegable: (picks[5] ?? 0) % 4 > 0 }));
  }

  private async delegate({ capabilities }: Kernel, picks: Picks): Promise<boolean> {
    const { holder, spec } = await this.source(capabilities, picks);
    return this.remember(await capabilities.delegate(holder, this.pid(picks[1]), spec));
  }

  private async derive({ capabilities }: Kernel, picks: Picks): Promise<boolean> {
    const { holder, spec } = await this.source(capabilities, picks);
    return this.remember(await capabilities.derive(holder, spec));
  }

  private async transfer({ capabilities }: Kernel, [what = 0, to]: Picks): Promise<boolean> {
    const { id, holder } = await capabilities.get(pick(this.capabilities, what));
    await capabilities.transfer(holder, this.pid(to), id);
    return true;
  }

  private async revoke({ capabilities }: Kernel, [what = 0]: Picks): Promise<boolean> {
    return (await capabilities.revoke(pick(this.capabilities, what))).count > 0;
  }

  private async deny({ capabilities }: Kernel, picks: Picks): Promise<boolean> {
    this.rules.push((await capabilities.deny(this.bound(picks), this.rule(picks))).id);
    return true;
  }

  private async ask({ capabilities }: Kernel, picks: Picks): Promise<boolean> {
    this.rules.push((await capabilities.ask(this.bound(picks), this.rule(picks))).id);
    return true;
  }

  private async lift({ capabilities }: Kernel, [what = 0]: Picks): Promise<boolean> {
    const [rule] = this.rules.splice(what % Math.max(1, this.rules.length), 1);
    if (rule === undefined) return false;
    await capabilities.lift(rule);
    return true;
  }

  private async require({ capabilities }: Kernel, picks: Picks): Promise<boolean> {
    const { pid, resource, args } = await this.call(capabilities, picks, 'allow');
    await capabilities.require(pid, 'call', resource, args);
    return true;
  }

  /** Of what waits for an answer, after one more call that has to. */
  private async answer(kernel: Kernel, picks: Picks): Promise<boolean> {
    const { approvals, capabilities } = kernel;
    const { pid: asker, resource, args } = await this.call(capabilities, picks, 'ask');
    await attempt(capabilities.require(asker, 'call', resource, args));
    const pending = (await approvals.list()).filter(({ pid }) => this.pids.includes(pid));
    const [which = 0, how = 0, far = 0] = picks.slice(3);
    const approval = pick(pending, which);
    if (approval === undefined) return false;
    const decision = pick(['once', 'always', 'always', 'deny-always', 'deny'] as const, how);
    const scope = decision.endsWith('always') ? { scope: pick(['args', 'resource', 'tree'] as const, far) } : {};
    await approvals.answer(approval.id, { decision, by: 'somebody', ...scope });
    return true;
  }

  private async exit({ processes }: Kernel, [who, how = 0]: Picks): Promise<boolean> {
    // The first is the one that most of the others come from: it ends less often.
    const pid = this.pid(who === 0 ? how : who);
    if (how % 3 === 0) return (await processes.kill(pid)).delivered.length > 0;
    await processes.exit(pid, how % 3 === 1 ? {} : { result: { made: 1 } });
    return true;
  }

  /** A child leaves a result, which its parent takes for its new goal, or leaves to its own parent. */
  private async leaveResult({ processes }: Kernel, [who, how = 0]: Picks): Promise<boolean> {
    const pid = this.pid(who);
    const child = await processes.spawnChild(pid, { image: 'base' });
    await processes.complete(child, { made: 1 });
    const { result } = await processes.result(child);
    if (result === undefined) return false;
    this.results.push(result);
    if (how % 2 === 0) await processes.exit(pid, { result });
    else await processes.exec(pid, { image: 'worker', goal: result });
    return true;
  }

  private async exec({ processes }: Kernel, [who, how = 0]: Picks): Promise<boolean> {
    await processes.exec(this.pid(who), { image: 'worker', preserveCapabilities: how % 3 === 0 });
    return true;
  }

  private async tick(_kernel: Kernel, [ms = 0]: Picks): Promise<boolean> {
    this.clock.advance(1 + (ms % 20));
    return true;
  }

  private async prune({ processes }: Kernel): Promise<boolean> {
    return (await processes.prune({ endedBefore: this.clock.now() + 1 })).pruned > 0;
  }

  /** A call on which the decision is `effect`, if there is one. */
  private async call({ check }: Kernel['capabilities'], [who = 0, what = 0]: Picks, effect: string) {
    const all = this.pids.flatMap(callsOf);
    const decisions = await Promise.all(all.map((one) => check(one.pid, one.right, one.resource, one.args)));
    const fitting = all.filter((_, index) => decisions[index]?.effect === effect);
    return pick(fitting.length > 0 ? fitting : all, who * 7 + what);
  }

  private remember({ id }: { readonly id: string }): boolean {
    this.capabilities.push(id);
    return true;
  }

  /** A capability that somebody holds and all or a part of it; now and then one that is to be found. */
  private async source({ get }: Kernel['capabilities'], picks: Picks): Promise<{ holder: Pid; spec: DelegationSpec }> {
    const [what = 0] = picks;
    const stated = this.stated(picks);
    const { id, holder, resource } = await get(pick(this.capabilities, what));
    if (what % 4 === 3) return { holder, spec: stated };
    return { holder, spec: { ...stated, from: id, resource: what % 3 === 0 ? stated.resource : resource } };
  }

  /** The authority to hand on: mostly whole, sometimes with limits. */
  private stated([, , what = 0, uses = 0, until = 0, more = 0]: Picks): DelegationSpec {
    return {
      resource: pick(patterns, what),
      rights: ['call'],
      ...(uses % 4 === 3 ? { uses: 1 + (uses % 3) } : {}),
      ...(until % 4 === 3 ? { expiresAt: this.clock.now() + (until % 30) } : {}),
      ...(more % 5 === 4 ? { constraints: { q: { eq: 1 } } } : { delegable: more % 3 > 0 }),
    };
  }

  private rule([, , what = 0, , until = 0]: Picks): RuleSpec {
    const expiry = until % 3 > 0 ? { expiresAt: this.clock.now() + (until % 30) } : {};
    return { resource: pick(patterns, what), rights: ['call'], ...expiry };
  }

  private bound([on = 0]: Picks): Pid | '*' {
    return on % 5 === 4 ? '*' : this.pid(on);
  }

  private pid(index = 0): Pid {
    return pick(this.pids, index);
  }
}

type Picks = readonly number[];

/** Questions about every process: tools, the family, the objects of processes, and their results. */
export function questionsAbout(pids: readonly Pid[], results: readonly ObjectHandle[]): Question[] {
  return pids.flatMap((pid) => [
    ...callsOf(pid),
    ...pids.flatMap((other): Question[] => [
      { pid, right: 'send', resource: `process:${other}`, args: {} },
      { pid, right: 'wait', resource: `process:${other}`, args: {} },
      { pid, right: 'read', resource: `ns:process/${other}/x`, args: {} },
    ]),
    ...results.map(({ id }): Question => ({ pid, right: 'read', resource: `object:${id}`, args: {} })),
  ]);
}

function callsOf(pid: Pid): Question[] {
  return tools.flatMap((resource) => [{}, { q: 1 }].map((args) => ({ pid, right: 'call', resource, args })));
}

type Question = { readonly pid: Pid; readonly right: Right; readonly resource: string; readonly args: JsonObject };
