import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Ledger } from '../audit/ledger.js';
import { Clock, type KernelClock } from '../base/clock.js';
import { CapabilityError, KernelError, ProcessError } from '../base/errors.js';
import type { CapabilityId, Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { NodeIdentity } from '../base/node-identity.js';
import { copyPlain, payloadLimits } from '../base/plain.js';
import { parseSpec } from '../base/spec.js';
import { type ReadTx, Store } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import { EventLog } from '../events/event-log.js';
import type { Capability, CapabilitySpec } from './capability.js';
import { type CapabilityRecord, toCapability } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import { capabilitySpec, parseCapabilitySpec } from './capability-spec.js';
import { type DecisionCode, Evaluator, type NearMiss } from './evaluator.js';
import { Grants } from './grants.js';
import { parseRequest, type Request } from './resource.js';
import { parseRights, type Right } from './rights.js';

export interface Decision {
  readonly effect: 'allow' | 'deny';
  readonly code: DecisionCode;
  readonly capability?: CapabilityId;
  readonly reason: string;
}

export interface Explanation {
  readonly effect: 'allow' | 'deny';
  readonly code: DecisionCode;
  readonly pid: Pid;
  readonly right: string;
  readonly resource: string;
  readonly capability?: CapabilityId;
  /** The deciding capability first, up to the root grant. */
  readonly chain?: readonly Capability[];
  readonly nearest: readonly NearMiss[];
  readonly hint: string;
}

/** Authority: who holds what, why, and what it allows. */
export interface CapabilityManager {
  /** Gives a process a root capability. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, INVALID_INPUT. */
  grant(pid: Pid, spec: CapabilitySpec): Promise<Capability>;
  /** Has no effect, is not audited and never throws for a bad request. */
  check(pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Decision>;
  /** The same decision, with what came near and what would mend it. */
  explain(pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Explanation>;
  list(pid: Pid, options?: { status?: 'live' | 'any'; limit?: number }): Promise<Capability[]>;
  /** Throws NO_SUCH_CAPABILITY. */
  get(capability: CapabilityId): Promise<Capability>;
  /** Itself first, up to the root grant. */
  chain(capability: CapabilityId): Promise<Capability[]>;
}
export const CapabilityManager: Token<CapabilityManager> = token('CapabilityManager');

const id = z.string().min(1).max(512);
const listOptions = z.strictObject({
  status: z.enum(['live', 'any']).default('live'),
  limit: z.number().int().min(1).max(100_000).default(10_000),
});

@injectable()
export class StoreCapabilityManager implements CapabilityManager {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Grants) private readonly grants: Grants,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {}

  async grant(input: Pid, given: CapabilitySpec): Promise<Capability> {
    const pid = parseSpec(id, input, 'pid');
    const authority = parseCapabilitySpec(parseSpec(capabilitySpec, given, 'spec'));
    return this.store.write(async (tx) => {
      const at = this.clock.now();
      const holder = await this.repository.holder(tx, pid);
      if (holder === undefined) throw noHolder('NO_SUCH_PROCESS', pid, 'does not exist');
      if (!holder.live) throw noHolder('PROCESS_TERMINATED', pid, 'has ended');
      const record = this.grants.root({ pid, generation: holder.generation, at }, authority, 'host');
      await this.grants.insert(tx, [record]);
      const capability = record.id;
      this.events.append(tx, { type: 'capability.granted', at, pid, data: { capability } });
      this.ledger.append(tx, {
        actor: 'host',
        via: `host:${this.node.operator}`,
        at,
        action: 'capability.grant',
        outcome: 'ok',
        target: pid,
        capability,
        resource: authority.pattern.text,
        facts: { rights: [...authority.rights] },
        subject: pid,
      });
      return this.shown(tx, record);
    });
  }

  async check(pid: Pid, right: Right, resource: string, args: JsonValue = {}): Promise<Decision> {
    const { effect, code, capability, hint } = await this.explain(pid, right, resource, args);
    return { effect, code, ...(capability === undefined ? {} : { capability }), reason: hint };
  }

  async explain(pid: Pid, right: Right, resource: string, args: JsonValue = {}): Promise<Explanation> {
    const asked = { pid: shown(pid), right: shown(right), resource: shown(resource) };
    let request: Request;
    let plain: JsonValue;
    try {
      request = parseRequest(parseSpec(z.string(), resource, 'resource'));
      parseRights(request.kind, [parseSpec(z.string(), right, 'right')]);
      parseSpec(id, pid, 'pid');
      plain = copyPlain(args, 'args', payloadLimits);
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      return { ...asked, effect: 'deny', code: 'BAD_REQUEST', nearest: [], hint: `${error.message} ${error.hint}` };
    }
    return this.store.read(async (tx) => {
      const { code, capability, nearest } = await this.evaluator.decide(
        tx,
        asked.pid,
        right,
        request,
        plain,
        this.clock.peek(),
      );
      const resourceText = request.text;
      if (capability === undefined) {
        const hint = mend(code, asked.pid, right, resourceText);
        return { ...asked, resource: resourceText, effect: 'deny', code, nearest, hint };
      }
      const chain = await this.climb(tx, await this.record(tx, capability));
      return {
        ...asked,
        resource: resourceText,
        effect: 'allow',
        code,
        capability,
        chain,
        nearest,
        hint: `Allowed by ${capability}.`,
      };
    });
  }

  async list(input: Pid, options: { status?: 'live' | 'any'; limit?: number } = {}): Promise<Capability[]> {
    const pid = parseSpec(id, input, 'pid');
    const { status, limit } = parseSpec(listOptions, options, 'options');
    return this.store.read(async (tx) => {
      if ((await this.repository.holder(tx, pid)) === undefined)
        throw noHolder('NO_SUCH_PROCESS', pid, 'does not exist');
      const shown: Capability[] = [];
      for (const record of await this.repository.heldBy(tx, pid)) {
        const capability = await this.shown(tx, record);
        if (shown.length < limit && (status === 'any' || capability.status === 'live')) shown.push(capability);
      }
      return shown;
    });
  }

  async get(input: CapabilityId): Promise<Capability> {
    const capability = parseSpec(id, input, 'capability');
    return this.store.read(async (tx) => this.shown(tx, await this.record(tx, capability)));
  }

  async chain(input: CapabilityId): Promise<Capability[]> {
    const capability = parseSpec(id, input, 'capability');
    return this.store.read(async (tx) => this.climb(tx, await this.record(tx, capability)));
  }

  private async climb(tx: ReadTx, record: CapabilityRecord): Promise<Capability[]> {
    const chain = [await this.shown(tx, record)];
    for (let at = record; at.parent !== null; ) {
      at = await this.record(tx, at.parent);
      chain.push(await this.shown(tx, at));
    }
    return chain;
  }

  private async shown(tx: ReadTx, record: CapabilityRecord): Promise<Capability> {
    return toCapability(record, await this.evaluator.status(tx, record, this.clock.peek()));
  }

  private async record(tx: ReadTx, capability: CapabilityId): Promise<CapabilityRecord> {
    const record = await this.repository.find(tx, capability);
    if (record !== undefined) return record;
    throw new CapabilityError('NO_SUCH_CAPABILITY', `There is no capability ${JSON.stringify(capability)}.`, {
      facts: { capability },
      hint: 'capabilities.list(pid) shows those that a process holds.',
    });
  }
}

/** What was asked, as far as it is text. */
function shown(given: unknown): string {
  return typeof given === 'string' ? given.slice(0, 512) : typeof given;
}

function noHolder(code: string, pid: Pid, problem: string): ProcessError {
  return new ProcessError(code, `Process ${pid} ${problem}.`, { facts: { pid }, hint: 'Grant to a live process.' });
}

function mend(code: DecisionCode, pid: Pid, right: Right, resource: string): string {
  switch (code) {
    case 'PROCESS_ENDED':
      return `Process ${pid} has ended or never was; it holds nothing.`;
    case 'CONSTRAINT':
      return 'Change the arguments to what the capability allows.';
    default:
      return `Delegate it from its parent, or grant it: capabilities.grant('${pid}', { resource: '${resource}', rights: ['${right}'] }).`;
  }
}
