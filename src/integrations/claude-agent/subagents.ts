import { CapabilityError, type ChildSpec, childFace, InputError, type Pid, type ProcessFace } from '../../index.js';
import type { CallingFace } from '../shared/calling-face.js';
import { delegableAuthority } from '../shared/delegable-authority.js';

/** A subagent of the SDK. */
export interface ClaudeSubagent {
  /** Its `agent_id`. */
  readonly id: string;
  /** Its `agent_type`, such as `general-purpose`. */
  readonly type: string;
}

/** The parts of the spec of the child that stands for a subagent. */
export type SubagentOptions = Omit<ChildSpec, 'image' | 'args' | 'id' | 'held'>;

/** Decides on the child of a subagent. Absent authority is everything that the parent holds and may hand on. */
export type SubagentSpec = (
  agent: ClaudeSubagent,
) => SubagentOptions | undefined | Promise<SubagentOptions | undefined>;

/** The processes of a session: the main one, and a child for each subagent. */
export class Subagents {
  private readonly children = new Map<string, Promise<CallingFace>>();

  constructor(
    private readonly main: CallingFace,
    private readonly specOf: SubagentSpec = () => undefined,
    private readonly as?: (pid: Pid) => ProcessFace,
  ) {}

  /** The face of whoever makes a call. A subagent that is not known yet gets its child now. Throws as `spawnChild`. */
  faceOf(agent: ClaudeSubagent | undefined): Promise<CallingFace> {
    return agent === undefined ? Promise.resolve(this.main) : this.start(agent);
  }

  /** The face of the main agent, while it is alone: a call that does not say who makes it. Throws CAPABILITY_DENIED. */
  onlyFace(): CallingFace {
    if (this.children.size === 0) return this.main;
    throw new CapabilityError('CAPABILITY_DENIED', 'The call does not say which agent makes it.', {
      facts: { pid: this.main.pid },
      hint: 'Use a version of the Claude Agent SDK that sends the id of the call, or no subagents.',
    });
  }

  /** The child of the subagent, which is spawned by the first call. Throws as `spawnChild`. */
  start(agent: ClaudeSubagent): Promise<CallingFace> {
    const known = this.children.get(agent.id);
    if (known !== undefined) return known;
    const started = this.spawn(agent);
    this.children.set(agent.id, started);
    started.catch(() => undefined);
    return started;
  }

  /** Ends the child with the last message of its subagent. One that has ended already stays as it is. */
  async stop(agent: ClaudeSubagent, lastMessage: string): Promise<void> {
    const started = this.children.get(agent.id);
    if (started === undefined) return;
    this.children.delete(agent.id);
    const child = await started.catch(() => undefined);
    await child?.exit({ result: lastMessage.toWellFormed().slice(0, resultMax) });
  }

  private async spawn(agent: ClaudeSubagent): Promise<CallingFace> {
    const own = (await this.specOf(agent)) ?? {};
    const child = await this.main.spawnChild({
      name: agent.type.slice(0, nameMax),
      ...own,
      labels: { ...own.labels, 'claude.agent': agent.id },
      delegate: own.delegate ?? (await delegableAuthority(this.main)),
      image: 'base',
    });
    return this.as === undefined ? childFace(this.ownFace(), child) : this.as(child);
  }

  /** Throws INVALID_INPUT for the `ctx` of a body, whose children have no face of their own. */
  private ownFace(): ProcessFace {
    if ('signal' in this.main && typeof this.main.signal === 'function') return this.main as ProcessFace;
    throw new InputError('INVALID_INPUT', 'options.as: is needed for the subagents of a ctx.', {
      facts: { path: 'options.as', problem: 'is needed for the subagents of a ctx' },
      hint: 'claudeOptions(ctx, { as: (pid) => kernel.as(pid) })',
    });
  }
}

const nameMax = 100;
const resultMax = 65_536;
