import { describe, expect, it } from 'vitest';
import { defineImage, defineTool, type JsonValue } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';

const asyncFunction: unknown = Object.getPrototypeOf(async () => undefined);
const builtins = new Set<unknown>([
  asyncFunction,
  ...[Object, Function, Array, Promise, AbortSignal, EventTarget].flatMap((each) => [each, each.prototype]),
]);

/** The paths of objects that can be changed, from `value` through properties, prototypes and constructors. */
function changeable(value: unknown, path: string, seen = new Set<unknown>()): string[] {
  const isObject = typeof value === 'object' && value !== null;
  if (!isObject && typeof value !== 'function') return [];
  if (builtins.has(value) || value instanceof AbortSignal || seen.has(value)) return [];
  seen.add(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  // A method is made anew each time that it is asked for, or belongs to this face only.
  if (typeof value === 'function' && builtins.has(prototype) && !/^class/.test(String(value))) return [];
  // Its arguments are a copy of its own.
  const names = [...Object.getOwnPropertyNames(value), ...(isObject ? namesOf(prototype) : ['prototype'])].filter(
    (name) => name !== 'args',
  );
  return [
    ...(Object.isFrozen(value) ? [] : [path]),
    ...changeable(prototype, `${path}.__proto__`, seen),
    ...names.flatMap((name) => changeable(read(value, name), `${path}.${name}`, seen)),
  ];
}

function namesOf(prototype: unknown): string[] {
  return builtins.has(prototype) || prototype === null ? [] : Object.getOwnPropertyNames(prototype);
}

/** A getter of a prototype fails when it is read from the prototype itself. */
function read(value: object, name: string): unknown {
  try {
    return Reflect.get(value, name);
  } catch {
    return undefined;
  }
}

describe('what a body or a tool is given', () => {
  it('is frozen, with its parts, prototypes and constructors', async () => {
    const found: string[] = [];
    const tool = defineTool({
      name: 'inspect',
      description: 'Looks at its context',
      input: { type: 'object' },
      effect: 'pure',
      run: async (_args, context) => {
        found.push(...changeable(context.process, 'context.process'));
        return null;
      },
    });
    const image = defineImage({
      name: 'inspecting',
      run: async (ctx) => {
        found.push(...changeable(ctx, 'ctx'));
        await ctx.tools.call('inspect', {});
        return null;
      },
    });
    const kernel = await openKernel({ images: [image], tools: [tool] });
    const pid = await kernel.processes.spawn({
      image: 'inspecting',
      args: { deep: { value: 1 } },
      capabilities: [{ resource: 'tool:inspect', rights: ['call'] }],
    });
    expect((await kernel.processes.result(pid)).message).toBeUndefined();
    found.push(...changeable(kernel.as(pid), 'face'));
    expect(found).toEqual([]);
  });

  it('shows no body the context of another through a prototype that both share', async () => {
    const seen: string[] = [];
    const attack = (target: object) => {
      const shared = [Object.getPrototypeOf(target), target.constructor, target.constructor.prototype];
      for (const object of [target, ...shared.filter((each) => each !== undefined && !builtins.has(each))]) {
        for (const name of ['pid', 'args', 'spawnChild', 'constructor']) {
          const get = function (this: { readonly pid: string }) {
            seen.push(this.pid);
          };
          Reflect.defineProperty(object, name, { get });
        }
      }
    };
    const attacker = defineImage({
      name: 'attacker',
      run: async (ctx) => {
        for (const part of [ctx, ctx.memory, ctx.tools, ctx.capabilities, ctx.goal]) attack(part);
        return null;
      },
    });
    const victim = defineImage({ name: 'victim', run: async (ctx) => (ctx.args as { secret: JsonValue }).secret });
    const kernel = await openKernel({ images: [attacker, victim] });
    const first = await kernel.processes.spawn({ image: 'attacker' });
    expect((await kernel.processes.result(first)).message).toBeUndefined();
    const second = await kernel.processes.spawn({ image: 'victim', args: { secret: 'mine' } });
    expect((await kernel.processes.result(second)).value).toBe('mine');
    expect(seen).toEqual([]);
  });

  it('can be changed where it is the host’s: the kernel and its managers', async () => {
    const kernel = await openKernel();
    for (const part of [kernel, kernel.processes, kernel.memory, kernel.capabilities])
      expect(Object.isFrozen(part)).toBe(false);
  });
});
