import type { Pid, QuestionId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { isTerminal, type ProcessRow } from '../process/process.js';

/** Whether a question waits for its answer, was answered, or can no longer be answered. */
export type QuestionStatus = 'pending' | 'answered' | 'closed';

/** A question of a process to a person. */
export interface UserQuestion {
  readonly id: QuestionId;
  /** The process that asks. */
  readonly pid: Pid;
  /** The processes above it, nearest first. */
  readonly lineage: readonly Pid[];
  /** The question in words. */
  readonly question: string;
  /** The JSON Schema that an answer has to fit; absent: any JSON. */
  readonly schema?: JsonObject;
  /** The answers to choose from; absent: any. */
  readonly choices?: readonly JsonValue[];
  /** `closed`: its process has ended, is being stopped or has another program, its time is over, or it was withdrawn. */
  readonly status: QuestionStatus;
  readonly createdAt: number;
  /** When it is closed if nobody has answered. */
  readonly expiresAt?: number;
  /** The answer; absent while there is none. */
  readonly answer?: JsonValue;
  /** The name of the person who answered. */
  readonly by?: string;
  /** The time of the answer. */
  readonly answeredAt?: number;
}

/** Options of a question. */
export interface AskOptions {
  /** WAIT_TIMEOUT when it is over; the question is closed then. */
  readonly timeoutMs?: number;
  /** Ends the wait. A question without an id is withdrawn. */
  readonly signal?: AbortSignal;
  /** The same id again waits for the answer to the same question. Bodies and tools need none. */
  readonly id?: string;
}

/** One row of the table of questions. */
export interface QuestionRecord {
  readonly id: QuestionId;
  readonly pid: Pid;
  /** The row number of that process. */
  readonly process: number;
  readonly generation: number;
  /** By which the same call finds its question again; null for a question that is asked once. */
  readonly key: string | null;
  readonly question: string;
  readonly schema: JsonObject | null;
  readonly choices: readonly JsonValue[] | null;
  readonly lineage: readonly Pid[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly closedAt: number | null;
  readonly answer: JsonValue;
  readonly answeredBy: string | null;
  /** Null while there is no answer. */
  readonly answeredAt: number | null;
}

export function statusOfQuestion(record: QuestionRecord, row: ProcessRow | undefined, now: number): QuestionStatus {
  if (record.answeredAt !== null) return 'answered';
  const isOver = record.closedAt !== null || (record.expiresAt !== null && record.expiresAt <= now);
  if (isOver || row === undefined || row.generation !== record.generation) return 'closed';
  return isTerminal(row.status) || row.status === 'stopping' ? 'closed' : 'pending';
}

/** The question as users see it. */
export function toQuestion(record: QuestionRecord, row: ProcessRow | undefined, now: number): UserQuestion {
  const { id, pid, lineage, question, schema, choices, createdAt, expiresAt, answer, answeredBy, answeredAt } = record;
  return {
    id,
    pid,
    lineage,
    question,
    ...(schema === null ? {} : { schema }),
    ...(choices === null ? {} : { choices }),
    status: statusOfQuestion(record, row, now),
    createdAt,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(answeredAt === null ? {} : { answer, answeredAt }),
    ...(answeredBy === null ? {} : { by: answeredBy }),
  };
}
