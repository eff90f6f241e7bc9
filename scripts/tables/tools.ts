import type { JsonValue } from '../../src/base/json.js';
import { noKernelFiles } from '../../src/kernel/workspace/kernel-files.js';
import { BuiltinTools, builtinToolNeeds } from '../../src/tools/builtin/builtin-tools.js';
import type { Tool } from '../../src/tools/tool.js';
import { parseTool } from '../../src/tools/tool-definition.js';
import { code, table } from './markdown.js';

interface ArgumentSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly items?: ArgumentSchema;
}

/** A section per tool that comes with the kernel: effect, needs and arguments. */
export function builtinToolSections(): string {
  const tools = new BuiltinTools({ now: () => 0 }, noKernelFiles).all();
  const unknown = Object.keys(builtinToolNeeds).filter((name) => !tools.some((tool) => tool.name === name));
  if (unknown.length > 0) throw new Error(`There are no tools ${unknown.join(', ')}.`);
  return tools.map(section).join('\n\n');
}

function section(tool: Tool): string {
  const { name, description, effect, input } = parseTool(tool).info();
  const facts = [
    `- Effect: ${code(effect)}${tool.effectOf === undefined ? '' : ', or a weaker one that depends on the arguments'}`,
    `- Needs, besides ${code('call')} on ${code(`tool:${name}`)}: ${needsOf(tool)}`,
  ].join('\n');
  return [`### ${code(name)}`, description, facts, argumentTable(input as unknown as InputSchema)].join('\n\n');
}

interface InputSchema {
  readonly properties?: Readonly<Record<string, ArgumentSchema>>;
  readonly required?: readonly string[];
}

function argumentTable({ properties = {}, required = [] }: InputSchema): string {
  const rows = Object.entries(properties).map(([name, schema]) => [
    code(required.includes(name) && schema.default === undefined ? name : `${name}?`),
    typeOf(schema),
    [schema.description ?? '', schema.default === undefined ? '' : `Default ${code(JSON.stringify(schema.default))}.`]
      .filter((text) => text !== '')
      .join(' '),
  ]);
  return rows.length === 0 ? 'It takes no arguments.' : table(['argument', 'type', 'meaning'], rows);
}

function typeOf({ type, enum: values, items }: ArgumentSchema): string {
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(', ');
  if (type === 'array') return `list of ${items === undefined ? 'JSON' : typeOf(items)}`;
  return type ?? 'JSON';
}

/** The declared resources for arguments that stand for any, or the needs in words. */
function needsOf({ name, resources }: Tool): string {
  const needs = builtinToolNeeds[name];
  if (needs !== undefined) return needs;
  if (resources === undefined) throw new Error(`${name} declares no resources: say what it needs in builtinToolNeeds.`);
  const place = { pid: 'PID', cwd: '.', workspace: '/nonexistent' };
  const declared = resources({ path: 'PATH', url: 'https://host/', method: 'GET' } as never, place);
  return declared
    .map(({ right, resource, refusedAs }) => {
      const alternative = refusedAs === undefined || refusedAs === right ? '' : ` or ${code(refusedAs)}`;
      return `${code(right)}${alternative} on ${code(resource.replace('host/443', 'HOST/PORT'))}`;
    })
    .join(', ');
}
