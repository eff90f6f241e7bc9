import type { JsonObject } from '../../../src/index.js';
import type { ChatReply, ChatRequest } from '../integrations/chat-server.js';

/** The goals of the researchers. */
const researchers = ['tides', 'winds', 'stars'];
/** The goals of all below the lead. */
export const workers = [...researchers, 'edit'];

/** The kernel's name of the tool by which agents write a line down. */
const noteTools = { kernel: 'note', sdk: 'own.note' };

/** The ways in which a team is made, with the turns of its lead and the model of all of them. */
export const teamKinds = {
  agentImage: teamOfProcesses(noteTools.kernel),
  streamText: teamOfProcesses(noteTools.kernel),
  langchain: teamOfProcesses(noteTools.sdk),
  mastra: teamOfProcesses(noteTools.sdk),
  'openai-agents': { leadTurns: 4, note: noteTools.sdk, replyOf: replyWithAgentsAsTools },
};
export type TeamKind = keyof typeof teamKinds;

/** The goal and number of a turn: the first message of the user is the goal, and every earlier turn has left an answer. */
export function turnOf({ messages }: ChatRequest): string {
  const goal = messages.find(({ role }) => role === 'user')?.content;
  return `${goal} turn ${1 + messages.filter(({ role }) => role === 'assistant').length}`;
}

/** A lead that starts the others with the kernel's own tools. */
function teamOfProcesses(note: string) {
  return { leadTurns: 6, note, replyOf: (request: ChatRequest) => replyWithProcesses(request, note) };
}

/** The model. Its reply depends on the turn alone, whatever became of its calls. */
function replyWithProcesses(request: ChatRequest, note: string): ChatReply {
  const [goal = '', , turn = ''] = turnOf(request).split(' ');
  if (goal !== 'lead') return replyOfWorker(goal, turn);
  switch (turn) {
    case '1':
      return { calls: researchers.map((topic) => ['process_spawn', workerSpec(topic, note)]) };
    case '2':
      return { calls: resultsOf(request).map((result) => ['process_wait', { pid: (result as Started).pid }]) };
    case '3':
      return {
        text: resultsOf(request).map(textOfEnd).join(', '),
        calls: [['process_spawn', workerSpec('edit', note)]],
      };
    case '4':
      return { calls: [['process_wait', { pid: (resultsOf(request).at(-1) as Started).pid }]] };
    case '5':
      return { text: textOfEnd(resultsOf(request).at(-1)), calls: [['note', { line: 'lead 1' }]] };
    default:
      return { text: lastSaid(request) };
  }
}

/** A lead to which the others are tools. */
function replyWithAgentsAsTools(request: ChatRequest): ChatReply {
  const [goal = '', , turn = ''] = turnOf(request).split(' ');
  if (goal !== 'lead') return replyOfWorker(goal, turn);
  switch (turn) {
    case '1':
      return { calls: researchers.map((topic) => [topic, { input: topic }]) };
    case '2':
      return { text: resultsOf(request).join(', '), calls: [['edit', { input: 'edit' }]] };
    case '3':
      return { text: String(resultsOf(request).at(-1)), calls: [['note', { line: 'lead 1' }]] };
    default:
      return { text: lastSaid(request) };
  }
}

function replyOfWorker(goal: string, turn: string): ChatReply {
  return turn === '3' ? { text: `all about ${goal}` } : { calls: [['note', { line: `${goal} ${turn}` }]] };
}

/** A child with the authority that it needs, and no more. */
function workerSpec(topic: string, note: string): JsonObject {
  const delegate = ['model:**', `tool:${note}`].map((resource) => ({ resource, rights: ['call'] }));
  return { image: 'worker', name: topic, goal: topic, delegate };
}

interface Started {
  readonly pid: string;
}

interface Ended {
  readonly value: { readonly text: string };
}

/** Mastra gives the model of a result with a member `value` only that. */
function textOfEnd(result: unknown): string {
  return ((result as Partial<Ended>).value ?? (result as Ended['value'])).text;
}

/** The results of the last calls. */
function resultsOf({ messages }: ChatRequest): unknown[] {
  const results = messages.filter(({ role }) => role === 'tool').slice(-researchers.length);
  return results.map(({ content }) => JSON.parse(content ?? ''));
}

function lastSaid({ messages }: ChatRequest): string {
  return messages.findLast(({ role, content }) => role === 'assistant' && content)?.content ?? '';
}
