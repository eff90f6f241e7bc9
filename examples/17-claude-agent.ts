/* A coding agent as a process: the configuration for Claude Code by `procura mcp`, and options for the Claude Agent SDK. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type CapabilitySpec, createKernel } from 'procura';
import { claudeOptions, claudeTools } from 'procura/claude-agent';

const folder = mkdtempSync(join(tmpdir(), 'procura-example-'));
const [store, workspace] = [join(folder, 'agents.db'), join(folder, 'project')];
mkdirSync(workspace);
writeFileSync(join(workspace, 'README.md'), 'Tides rise.');
const kernel = await createKernel({ store, workspace, tools: claudeTools() });
const capabilities: CapabilitySpec<string[]>[] = [
  { resource: ['tool:fs.read', 'tool:claude/Read'], rights: ['call'] },
  { resource: ['fs:**'], rights: ['read'] },
];
const pid = await kernel.processes.spawn({ name: 'coder', capabilities, budget: { toolCalls: 20 } });

// 1. Claude Code, or any agent with a configuration file. Its own tools are off: claude --strict-mcp-config --tools ''
const home = dirname(createRequire(import.meta.url).resolve('procura/package.json'));
const args = [join(home, 'dist/cli/main.js'), 'mcp', '--store', store, '--workspace', workspace, '--pid', pid];
const configuration = { mcpServers: { procura: { command: process.execPath, args } } };
const client = new Client({ name: 'claude-code', version: '1.0.0' });
await client.connect(new StdioClientTransport(configuration.mcpServers.procura));
for (const [name, path] of [['tool_fs_read', 'README.md'] as const, ['tool_fs_delete', 'README.md'] as const]) {
  const { content, isError = false } = await client.callTool({ name, arguments: { path } });
  console.log(`${name}: ${isError ? 'refused' : 'allowed'} ${JSON.stringify(content).includes('Tides rise')}`);
}
await client.close();

// 2. The Claude Agent SDK: query({ prompt, options: { settingSources: [], ...options } })
const { hooks } = claudeOptions(kernel.as(pid), { tools: 'governed' });
const { signal } = new AbortController();
for (const tool_name of ['Read', 'Bash']) {
  const input = { hook_event_name: 'PreToolUse', tool_name, tool_input: {}, tool_use_id: tool_name };
  const answer = await hooks.PreToolUse[0]?.hooks[0]?.(input, tool_name, { signal });
  console.log(`${tool_name}: ${answer?.hookSpecificOutput?.permissionDecision}`);
}
await hooks.SessionEnd[0]?.hooks[0]?.({ hook_event_name: 'SessionEnd' }, undefined, { signal });
await kernel.shutdown();
rmSync(folder, { recursive: true });
