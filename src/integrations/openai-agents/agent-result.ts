import type { JsonValue } from '../../index.js';
import type { ModelUsage } from '../shared/model-usage.js';

/** The result of the process of an agent. */
export type AgentRunResult = {
  /** The last answer as text; structured output as JSON. */
  readonly text: string;
  /** The last answer: a text, or a value of the output type of the agent. */
  readonly output: JsonValue;
  /** The name of the agent that the run ended with. */
  readonly agent: string;
  /** The number of turns of this process; a child counts as one. */
  readonly turns: number;
  /** The tokens of this process and of its children. */
  readonly usage: ModelUsage;
};
