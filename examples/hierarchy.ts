/*
 * A small team of agents: a planner, two researchers and a writer. Their work is done by this program; the kernel does
 * everything around it: who may do what, what it may cost, how it ends, and what is on record.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { createKernel, isKernelError, type Pid, type ProcessTree } from 'procura';

const folder = '.procura-demo';
const file = `${folder}/team.db`;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);

let kernel = await createKernel({ store: file });
const { processes, capabilities } = kernel;
console.log(`A new database: ${file}`);

title('1. A planner, with capabilities and a budget');
const planner = await processes.spawn({
  name: 'planner',
  goal: 'Compare two libraries and write a page about it',
  capabilities: [
    { resource: 'tool:search', rights: ['call'], delegable: true },
    { resource: 'tool:publish', rights: ['call'] },
  ],
  budget: { tokens: 10_000, children: 5, depth: 2 },
});
say('planner may call tool:search and delegate it; it may call tool:publish, but not delegate it.');
say('It has 10,000 tokens for itself and everything under it.');

title('2. Two researchers, which get tool:search and nothing else');
const alice = await spawnResearcher('researcher-a', 'Read about the first library');
const bob = await spawnResearcher('researcher-b', 'Read about the second library');
const names = new Map<Pid, string>([
  [planner, 'planner'],
  [alice, 'researcher-a'],
  [bob, 'researcher-b'],
]);
say('To delegate what the planner may not delegate is refused:');
const publish = { resource: 'tool:publish', rights: ['call'] } as const;
await expectRefusal(processes.spawnChild(planner, { name: 'intern', delegate: [publish] }));

title('3. A call that is not allowed, and why');
for (const resource of ['tool:search', 'tool:publish']) {
  const { effect, code, chain = [], hint = '' } = await capabilities.explain(alice, 'call', resource);
  say(`researcher-a, call ${resource}: ${effect} (${code})`);
  if (effect === 'allow') say(`  by ${chain.map(({ holder }) => `a capability of ${named(holder)}`).join(', from ')}`);
  else say(`  ${named(hint)}`);
}

title('4. Work, charged to the budget');
await charge(alice, 4_000);
await charge(bob, 5_000);
say('A charge beyond the limit is refused, whichever process of the team makes it:');
await expectRefusal(processes.charge(bob, { tokens: 2_000 }));

title('5. Results');
await processes.exit(alice, { result: { library: 'first', verdict: 'small and fast' } });
await processes.exit(bob, { result: { library: 'second', verdict: 'large and complete' } });
const findings = await processes.waitAll(planner, [alice, bob]);
for (const { pid, value } of findings) say(`${named(pid)}: ${JSON.stringify(value)}`);

title('6. A writer, forked from the planner; and a subtree that is cancelled');
const writer = await processes.fork(planner, { name: 'writer', goal: 'Write the page' });
const checker = await processes.spawnChild(planner, { name: 'checker', goal: 'Check every link' });
const helper = await processes.spawnChild(checker, { name: 'link-helper', goal: 'Check links one by one' });
names.set(writer, 'writer').set(checker, 'checker').set(helper, 'link-helper');
const { delivered } = await processes.cancel(checker, 'The page has no links');
say(`Cancelled with one signal: ${delivered.map(named).join(' and ')}.`);
await charge(writer, 800);
await processes.exit(writer, { result: { page: 'The first is small and fast, the second large and complete.' } });
const page = (await processes.wait(planner, writer)).value ?? null;
await processes.exit(planner, { result: page });
say(`The result of the planner: ${JSON.stringify(page)}`);

title('7. The process tree');
draw(await processes.tree(planner));

title('8. The lineage of the result: who made it, under whom, by whose authority');
const { ancestors, capabilities: held } = await kernel.audit.lineage(writer);
say(`Made by writer, spawned under ${ancestors.map(({ pid }) => named(pid)).join(', ')}, which the host spawned.`);
say(`writer never held more than ${held.map(({ resource }) => named(resource)).join(', ')}.`);
for (const { resource, chain } of (await kernel.audit.lineage(alice)).capabilities) {
  if (resource === 'tool:search')
    say(`researcher-a searched with ${chain.map(({ holder }) => named(holder)).join(' ← ')} ← the host.`);
}
const { items: refusals } = await kernel.audit.list({ outcome: 'refused' });
for (const { action, code, actor } of refusals) say(`On record as refused: ${action} by ${named(actor)}, ${code}.`);

title('9. The audit log, signed and verified');
const checkpoint = await kernel.audit.checkpoint();
const report = await kernel.audit.verify();
say(`${report.checked} records checked: ${report.ok ? 'the log is as it was written' : 'the log is BROKEN'}.`);
say(`root       ${report.root}`);
say(`signed at  ${new Date(checkpoint.at).toISOString()}, size ${checkpoint.size}`);
say(`signature  ${checkpoint.signature.slice(0, 64)}…`);
say(`key        ${checkpoint.key}`);
await kernel.shutdown();

title('10. The same file, opened again');
kernel = await createKernel({ store: file });
const { items } = await kernel.processes.list();
const again = await kernel.audit.verify({ checkpoint });
const state = again.ok ? 'verifies and begins with what was signed' : 'is BROKEN';
say(`${items.length} processes are there; the log ${state}.`);
say(`The planner's result: ${JSON.stringify((await kernel.processes.result(planner)).value)}`);
await kernel.shutdown();
console.log(`\nLook at it yourself:  node dist/cli/main.js tree --store ${file}`);
console.log(`                      node dist/cli/main.js audit --store ${file}`);

function title(text: string): void {
  console.log(`\n${text}`);
}

function say(text: string): void {
  console.log(`   ${text}`);
}

/** Pids are long; a reader of this output wants names. */
function named(text: string): string {
  return [...names].reduce((shown, [pid, name]) => shown.replaceAll(pid, name), text);
}

function spawnResearcher(name: string, goal: string): Promise<Pid> {
  return processes.spawnChild(planner, { name, goal, delegate: [{ resource: 'tool:search', rights: ['call'] }] });
}

async function charge(pid: Pid, tokens: number): Promise<void> {
  await processes.charge(pid, { tokens, toolCalls: 1 });
  const { left } = (await processes.budget(pid)).tokens;
  say(`${named(pid)} used ${tokens} tokens; the team has ${left} left.`);
}

async function expectRefusal(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isKernelError(error)) throw error;
    say(`  ${error.code}: ${named(error.message)}`);
    say(`  hint: ${named(error.hint)}`);
    return;
  }
  throw new Error('The call should have been refused.');
}

function draw(tree: ProcessTree, first = '   ', rest = '   '): void {
  const { kind = 'live', reason } = tree.outcome ?? {};
  const outcome = reason === undefined ? kind : `${kind}: ${reason}`;
  console.log(`${first}${tree.name} ${tree.status} (${outcome}), ${tree.used.tokens} tokens`);
  tree.children.forEach((child, index) => {
    const isLast = index === tree.children.length - 1;
    draw(child, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`);
  });
}
