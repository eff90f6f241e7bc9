/*
 * Counts the files that one call goes through: files of src/ without storage/ in which a function ran between the call
 * and its answer (V8 coverage), on an open kernel with default options.
 *
 *   npx tsx scripts/count-path.ts [--list]
 */
import { Session } from 'node:inspector/promises';
import { createKernel, defineTool, type Kernel, type Pid, type ProcessFace } from '../src/index.js';

const flags = process.argv.slice(2);

const echo = defineTool({
  name: 'echo',
  description: 'Answers with its argument.',
  input: { type: 'object' },
  effect: 'pure',
  run: (args) => args,
});

type Call = (kernel: Kernel, pid: Pid, face: ProcessFace) => Promise<unknown>;

const calls: Record<string, Call> = {
  spawnChild: ({ processes }, pid) => processes.spawnChild(pid),
  'tool call': (_kernel, _pid, { tools }) => tools.call('echo', { text: 'hello' }),
  check: ({ capabilities }, pid) => capabilities.check(pid, 'call', 'tool:echo'),
};

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

for (const [name, call] of Object.entries(calls)) {
  const files = await filesOf(call);
  console.log(`${name}: ${files.length} files`);
  if (flags.includes('--list')) console.log(files.map((file) => `  ${file}`).join('\n'));
}
session.disconnect();

async function filesOf(call: Call): Promise<string[]> {
  await using kernel = await createKernel({ tools: [echo] });
  const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:*', rights: ['call'] }] });
  const face = kernel.as(pid);
  await session.post('Profiler.takePreciseCoverage');
  await call(kernel, pid, face);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const root = new URL('../src/', import.meta.url).href;
  return result
    .filter(({ url, functions }) => url.startsWith(root) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .map(({ url }) => url.slice(root.length))
    .filter((file) => !file.startsWith('storage/'))
    .sort();
}
