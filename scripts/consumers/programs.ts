/*
 * The programs of consumers. `procura` is the packed package.
 */

/** Runs a process that calls a tool, on a database file; prints its result, or the code and hint of an error. */
const body = `
const add = defineTool({
  name: 'math.add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  run: ({ a, b }) => a + b,
});
const sum = defineImage({ name: 'sum', run: async (ctx, args) => ({ sum: await ctx.tools.call('math.add', args) }) });
try {
  const kernel = await createKernel({ store: 'consumer.db', tools: [add], images: [sum] });
  const capabilities = [{ resource: 'tool:math.add', rights: ['call'] }];
  const pid = await kernel.processes.spawn({ image: 'sum', args: { a: 1, b: 2 }, capabilities });
  const { status, value } = await kernel.processes.result(pid);
  console.log(status, JSON.stringify(value), (await kernel.audit.verify()).ok);
  await kernel.shutdown();
} catch (error) {
  console.log(error.code, error.hint);
}
`;

export const programOutput = 'exited {"sum":3} true\n';

export const esmProgram = `import { createKernel, defineImage, defineTool } from 'procura';\n${body}`;

export const commonJsProgram = `const { createKernel, defineImage, defineTool } = require('procura');
(async () => {${body}})();
`;

/** Compiles where the types are right, and only there: each line after @ts-expect-error has to be refused. */
export const typedProgram = `
import {
  createKernel,
  defineImage,
  defineTool,
  isKernelError,
  type Kernel,
  KernelError,
  type KernelErrorCode,
  type Pid,
  type ProcessRecord,
} from 'procura';

const pair = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const;
const add = defineTool({
  name: 'math.add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: pair,
  run: ({ a, b }) => a + b,
});
const sum = defineImage({
  name: 'sum',
  input: pair,
  run: async (ctx, args) => ({ sum: await ctx.tools.call(add, args) }),
});

const kernel: Kernel = await createKernel({ store: ':memory:', tools: [add], images: [sum] });
const pid: Pid<{ sum: number }> = await kernel.processes.spawn({
  image: sum,
  args: { a: 1, b: 2 },
  budget: { toolCalls: 1 },
  capabilities: [{ resource: 'tool:math.add', rights: ['call'] }],
});
const record: ProcessRecord = await kernel.processes.get(pid);
const value: number = (await kernel.processes.value(pid)).sum;
// @ts-expect-error The arguments do not fit the schema.
await kernel.processes.spawn({ image: sum, args: { a: 1 } });
// @ts-expect-error A budget is a number.
await kernel.processes.spawn({ image: sum, args: { a: 1, b: 2 }, budget: { toolCalls: 'one' } });

kernel.events.on('process.exited', ({ data }) => void (data.status satisfies string));
for await (const event of kernel.events.stream({ types: ['process.exited'] })) {
  event.data.status satisfies string;
  // @ts-expect-error The event has no such member.
  event.data.stat;
}

try {
  await kernel.processes.get('p_none');
} catch (error) {
  if (error instanceof KernelError) error.code satisfies KernelErrorCode;
  if (isKernelError(error, 'BUDGET_EXCEEDED')) error.facts;
  // @ts-expect-error There is no such code.
  isKernelError(error, 'BUDGET_EXCEDED');
}
await kernel.shutdown();
export { record, value };
`;

/** A process and a tool whose arguments a schema of the user's library checks. Compiles as it is, and runs without types. */
export function schemaProgram(imported: string, schema: string): string {
  return `
import { createKernel, defineImage, defineTool } from 'procura';
import ${imported};

const input = ${schema};
const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  effect: 'pure',
  input,
  run: ({ n }) => n * 2,
});
const twice = defineImage({
  name: 'twice',
  input,
  run: async (ctx, { n }) => n + (await ctx.tools.call(double, { n })),
});
const kernel = await createKernel({ store: ':memory:', tools: [double] });
const pid = await kernel.processes.spawn({
  image: twice,
  args: { n: 4 },
  capabilities: [{ resource: 'tool:double', rights: ['call'] }],
});
console.log((await kernel.processes.value(pid)).toFixed(1));
// @ts-expect-error The arguments do not fit the schema.
const wrong = kernel.processes.spawn({ image: twice, args: { n: 'four' } });
console.log(await wrong.catch(({ code }) => code));
await kernel.shutdown();
`;
}

export const schemaProgramOutput = '12.0\nINVALID_INPUT\n';

/** Runs an agent whose model is scripted, with a model of the version of the specification that the SDK has. */
export function agentProgram(specificationVersion: 'v3' | 'v4'): string {
  return `
import { createKernel } from 'procura';
import { agentImage, modelResource } from 'procura/ai-sdk';
import { scriptedModel } from 'procura/testing';
const model = scriptedModel(['Done.'], { specificationVersion: '${specificationVersion}' });
const agent = agentImage({ name: 'agent', model });
const kernel = await createKernel();
const capabilities = [{ resource: modelResource(model), rights: ['call' as const] }];
const { text, turns } = await kernel.run(agent, {}, { goal: 'Say it.', capabilities });
console.log(text satisfies string, turns satisfies number);
await kernel.shutdown();
`;
}

export const agentProgramOutput = 'Done. 1\n';
