import type { Pid } from '../../base/ids.js';
import type { OutcomeKind } from '../../kernel/process/process.js';

/** Drives one process of the operating system that this node holds, to its end. */
export interface Driver {
  readonly pid: Pid;
  /** Set when the end is recorded. */
  readonly outcomeKind: OutcomeKind | undefined;
  /** It goes on when the kernel ends. */
  readonly survives: boolean;
  /** Resolves when its end is recorded and cleaned up. */
  readonly done: Promise<void>;
  /** The process was ordered to stop; at `alarmAt`, in kernel time, it is killed. */
  stop(alarmAt: number): void;
  pause(): void;
  resume(): void;
  /** The row was ended by somebody else. */
  onEndedElsewhere(): void;
  /** This node does not hold the process any more, or lets it survive: stops driving it and signals nothing. */
  release(): void;
  /** Starts to meter the output if it has a limit now. */
  meterIfLimited(): Promise<void>;
  /** The node shuts down: stops the process, whose outcome is then `abandoned`. */
  shutDown(withinMs: number): void;
}
