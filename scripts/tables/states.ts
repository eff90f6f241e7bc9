import {
  processEventDescriptions,
  processEvents,
  statusDescriptions,
  transitions,
} from '../../src/kernel/process/transitions.js';
import { code, table } from './markdown.js';

/** A row per state, a column per event; an empty cell is a refusal. */
export function transitionTable(): string {
  const states = Object.entries(transitions).map(([state, events]: [string, Partial<Record<string, string>>]) => [
    `**${state}**`,
    ...processEvents.map((event) => events[event] ?? ''),
  ]);
  return table(['', ...processEvents], states);
}

export function statusTable(): string {
  const rows = Object.entries(transitions).map(([status, events]) => {
    const meaning = (statusDescriptions as Readonly<Record<string, string>>)[status] ?? '';
    return [code(status), meaning, Object.keys(events).length === 0 ? 'yes' : 'no'];
  });
  return table(['status', 'meaning', 'ended'], rows);
}

export function processEventTable(): string {
  return table(
    ['event', 'what happens'],
    Object.entries(processEventDescriptions).map(([event, meaning]) => [code(event), meaning]),
  );
}
