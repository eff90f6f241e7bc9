import { query } from '@anthropic-ai/claude-agent-sdk';
import { createKernel } from '../../../src/index.js';
import { claudeOptions, claudeTools } from '../../../src/integrations/claude-agent/index.js';

/** Runs a session of the real SDK as one process of a kernel; with `again`, the session that was there before. */
const [store = '', cwd = '', home = '', url = '', again = ''] = process.argv.slice(2);
const kernel = await createKernel({ logger: 'silent', store, tools: claudeTools(['Bash']), node: { leaseMs: 1_000 } });
const pid = await kernel.processes.spawn({
  id: 'coder',
  capabilities: [{ resource: 'tool:claude/Bash', rights: ['call'] }],
});
const env = {
  PATH: process.env.PATH,
  HOME: home,
  CLAUDE_CONFIG_DIR: `${home}/.claude`,
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: 'sk-ant-test',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
};
const session = query({
  prompt: again === '' ? 'Begin.' : 'Go on.',
  options: {
    cwd,
    env,
    model: 'claude-sonnet-4-5',
    settingSources: [],
    continue: again !== '',
    ...claudeOptions(kernel.as(pid), { tools: 'governed' }),
  },
});
for await (const message of session) {
  if (message.type === 'result') console.log(`result ${'result' in message ? message.result : message.subtype}`);
}
await kernel.shutdown();
