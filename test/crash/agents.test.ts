import { join } from 'node:path';
import { beforeAll, describe } from 'vitest';
import { testTeam } from '../support/crash/agent-team.js';
import { compilePrograms } from '../support/crash/compile-programs.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe.each(['agentImage', 'streamText'] as const)('a team by %s in a program that is killed', (kind) => {
  testTeam(kind, () => [join(programs, 'agents.js')]);
});

describe('a team of LangChain agents in a program that is killed', () => {
  testTeam('langchain', () => [join(programs, 'langchain-team.js')]);
});

describe('a team of OpenAI Agents in a program that is killed', () => {
  testTeam('openai-agents', () => [join(programs, 'openai-team.js')]);
});
