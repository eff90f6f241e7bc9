/*
 * A small team of agents: a planner, two researchers, a writer. Their work is done here, from the host's face; what the
 * kernel does is everything around it: who may do what, what it may cost, how it ends, and what stays on record.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { createKernel } from 'procura';

const folder = '.procura-demo';
const file = `${folder}/team.db`;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);

let kernel = await createKernel({ store: file, workspace: folder });
const { processes, capabilities } = kernel;
console.log(`A new database: ${file}`);

title('1. A planner, with authority and a budget');
const planner = await processes.spawn({
  name: 'planner',
  goal: 'Compare two libraries and write a page about it',
  capabilities: [
    { resource: 'tool:search', rights: ['call'], delegable: true },
    { resource: 'tool:publish', rights: ['call'] },
  ],
  budget: { tokens: 10_000, children: 5, depth: 2 },
});
say('planner may call tool:search and hand that on; it may call tool:publish and keep that to itself.');
say('It has 10,000 tokens for itself and everything under it.');

title('2. Two researchers, who get search and nothing else');
const search = { resource: 'tool:search', rights: ['call'] };
const researcher = (name, goal) => processes.spawnChild(planner, { name, goal, delegate: [search] });
const alice = await researcher('researcher-a', 'Read about the first library');
const bob = await researcher('researcher-b', 'Read about the second library');
const names = new Map([
  [planner, 'planner'],
  [alice, 'researcher-a'],
  [bob, 'researcher-b'],
]);
say('Handing on what the planner may not hand on is refused:');
await refused(() =>
  processes.spawnChild(planner, { name: 'intern', delegate: [{ resource: 'tool:publish', rights: ['call'] }] }),
);

title('3. A call that is not allowed, and why');
for (const resource of ['tool:search', 'tool:publish']) {
  const { effect, code, chain = [], hint } = await capabilities.explain(alice, 'call', resource);
  say(`researcher-a, call ${resource}: ${effect} (${code})`);
  if (effect === 'allow') say(`  by ${chain.map((link) => `a capability of ${named(link.holder)}`).join(', from ')}`);
  else say(`  ${named(hint)}`);
}

title('4. Work, charged to the budget');
const charged = async (pid, tokens) => {
  await processes.charge(pid, { tokens, toolCalls: 1 });
  const { left } = (await processes.budget(pid)).tokens;
  say(`${named(pid)} used ${tokens} tokens; the team has ${left} left.`);
};
await charged(alice, 4_000);
await charged(bob, 5_000);
say('What would pass the limit is refused, whoever in the team asks:');
await refused(() => processes.charge(bob, { tokens: 2_000 }));

title('5. Results');
await processes.exit(alice, { result: { library: 'first', verdict: 'small and fast' } });
await processes.exit(bob, { result: { library: 'second', verdict: 'large and complete' } });
const findings = await processes.waitAll(planner, [alice, bob]);
for (const { pid, value } of findings) say(`${named(pid)}: the ${value.library} one is ${value.verdict}.`);

title('6. A writer, forked from the planner; and a subtree that is cancelled');
const writer = await processes.fork(planner, { name: 'writer', goal: 'Write the page' });
const checker = await processes.spawnChild(planner, { name: 'checker', goal: 'Check every link' });
const helper = await processes.spawnChild(checker, { name: 'link-helper', goal: 'Check links one by one' });
for (const [pid, name] of [
  [writer, 'writer'],
  [checker, 'checker'],
  [helper, 'link-helper'],
])
  names.set(pid, name);
const { delivered } = await processes.cancel(checker, 'The page has no links');
say(`Cancelled with one signal: ${delivered.map(named).join(' and ')}.`);
await charged(writer, 800);
await processes.exit(writer, { result: { page: 'The first is small and fast, the second large and complete.' } });
const page = await processes.wait(planner, writer);
await processes.exit(planner, { result: page.value });
say(`The result of the planner: ${JSON.stringify(page.value)}`);

title('7. The process tree');
draw(await processes.tree(planner));

title('8. The lineage of the result: who made it, under whom, by whose authority');
const { ancestors, capabilities: held } = await kernel.audit.lineage(writer);
say(`Made by writer, born under ${ancestors.map(({ pid }) => named(pid)).join(', ')}, which the host spawned.`);
say(`writer never held more than ${held.map(({ resource }) => named(resource)).join(', ')}.`);
const [searching] = (await kernel.audit.lineage(alice)).capabilities.filter(
  ({ resource }) => resource === 'tool:search',
);
say(`researcher-a searched with ${searching.chain.map(({ holder }) => named(holder)).join(' ← ')} ← the host.`);
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
kernel = await createKernel({ store: file, workspace: folder });
const { items } = await kernel.processes.list();
const again = await kernel.audit.verify({ checkpoint });
say(
  `${items.length} processes are there; the log ${again.ok ? 'verifies and begins with what was signed' : 'is BROKEN'}.`,
);
say(`The planner's result: ${JSON.stringify((await kernel.processes.result(planner)).value)}`);
await kernel.shutdown();
console.log(
  `\nLook at it yourself:  node dist/cli/main.js tree --store ${file}\n                      node dist/cli/main.js audit --store ${file}`,
);

function title(text) {
  console.log(`\n${text}`);
}

function say(text) {
  console.log(`   ${text}`);
}

/** Pids are long; a reader of this page wants names. */
function named(text) {
  return [...names].reduce((shown, [pid, name]) => shown.replaceAll(pid, name), text);
}

async function refused(call) {
  try {
    await call();
    throw new Error('this should have been refused');
  } catch (error) {
    if (error.code === undefined) throw error;
    say(`  ${error.code}: ${named(error.message)}`);
    say(`  hint: ${named(error.hint)}`);
  }
}

function draw(tree, first = '   ', rest = '   ') {
  const outcome =
    tree.outcome?.reason === undefined ? tree.outcome?.kind : `${tree.outcome.kind}: ${tree.outcome.reason}`;
  console.log(`${first}${tree.name} ${tree.status} (${outcome ?? 'live'}), ${tree.used.tokens} tokens`);
  tree.children.forEach((child, index) => {
    const last = index === tree.children.length - 1;
    draw(child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`);
  });
}
