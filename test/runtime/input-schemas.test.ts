import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, externalImage, type JsonValue, type Kernel, type Schema } from '../../src/index.js';
import { openKernel, refusal } from '../support/kernel.js';

const draft07 = 'http://json-schema.org/draft-07/schema#';
const draft2020 = 'https://json-schema.org/draft/2020-12/schema';

async function openKernelWith(input: unknown): Promise<Kernel> {
  return openKernel({ images: [externalImage({ name: 'counted', input: input as Schema })] });
}

const spawnCounted = (kernel: Kernel, args: JsonValue) => kernel.processes.spawn({ image: 'counted', args });

describe('a JSON Schema as the input of an image', () => {
  const input = {
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 1 },
      tags: { type: 'array', items: { type: 'object', properties: { 'a/b': { enum: ['x', 'y'] } } } },
    },
    required: ['n'],
    additionalProperties: false,
  } as const;

  it('lets arguments through as they are', async () => {
    const image = defineImage({ name: 'double', input, run: (_ctx, { n }) => n * 2 });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'double', args: { n: 21 } });
    expect((await kernel.processes.result(pid)).value).toBe(42);
  });

  const refused: [JsonValue, string, string][] = [
    [{}, 'spec.args', "must have required property 'n'"],
    [{ n: 1.5 }, 'spec.args.n', 'must be integer'],
    [{ n: 0 }, 'spec.args.n', 'must be >= 1'],
    [{ n: 1, more: 1 }, 'spec.args', 'must NOT have additional properties: "more"'],
    [
      { n: 1, tags: [{}, { 'a/b': 'z' }] },
      'spec.args.tags.1.a/b',
      'must be equal to one of the allowed values: ["x","y"]',
    ],
    ['text', 'spec.args', 'must be object'],
  ];
  it('refuses the others, naming where and why', async () => {
    const kernel = await openKernelWith(input);
    for (const [args, path, problem] of refused) {
      expect(await refusal(spawnCounted(kernel, args))).toEqual({
        code: 'INVALID_INPUT',
        facts: { path, problem, image: 'counted@1' },
      });
    }
    expect((await kernel.processes.list()).items).toEqual([]);
  });

  it('is of draft 2020-12, or of draft 07 when it says so', async () => {
    const tuple = [{ type: 'string' }, { type: 'number' }];
    const pair = { type: 'object', properties: { pair: { prefixItems: tuple } } };
    for (const schema of [pair, { ...pair, $schema: draft2020 }]) {
      const kernel = await openKernelWith(schema);
      await spawnCounted(kernel, { pair: ['a', 1] });
      expect(await refusal(spawnCounted(kernel, { pair: [1, 'a'] }))).toMatchObject({
        facts: { path: 'spec.args.pair.0' },
      });
    }
    const old = await openKernelWith({ $schema: draft07, type: 'object', properties: { pair: { items: tuple } } });
    await spawnCounted(old, { pair: ['a', 1] });
    expect(await refusal(spawnCounted(old, { pair: [1, 'a'] }))).toMatchObject({ facts: { path: 'spec.args.pair.0' } });
  });

  it('may refer to its own parts, have an $id that another has, and members that mean nothing', async () => {
    const schema = {
      $id: 'https://example.com/n',
      $ref: '#/$defs/n',
      $defs: { n: { type: 'number' } },
      'x-remark': 'hello',
    };
    const images = ['one', 'two'].map((name) => externalImage({ name, input: schema }));
    const kernel = await openKernel({ images });
    await kernel.processes.spawn({ image: 'one', args: 1 });
    await kernel.processes.spawn({ image: 'two', args: 2 });
    expect(await refusal(kernel.processes.spawn({ image: 'two', args: 'x' }))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('compares whole values', async () => {
    const kernel = await openKernelWith({ properties: { one: { const: { a: [1] } }, all: { uniqueItems: true } } });
    await spawnCounted(kernel, { one: { a: [1] }, all: [{ a: 1 }, { a: 2 }] });
    expect(await refusal(spawnCounted(kernel, { one: { a: [2] } }))).toMatchObject({
      facts: { path: 'spec.args.one' },
    });
    expect(await refusal(spawnCounted(kernel, { all: [{ a: 1 }, { a: 1 }] }))).toMatchObject({
      facts: { path: 'spec.args.all' },
    });
  });

  it('describes an error in a bounded text', async () => {
    const kernel = await openKernelWith({ enum: Array.from({ length: 10_000 }, (_, index) => `value ${index}`) });
    const { facts } = await refusal(spawnCounted(kernel, 'none of them'));
    expect((facts as { problem: string }).problem.length).toBeLessThanOrEqual(300);
  });

  it('is taken as it was when the image was registered', async () => {
    const schema = { type: 'number' };
    const kernel = await openKernelWith(schema);
    schema.type = 'string';
    await spawnCounted(kernel, 1);
  });

  const broken: Readonly<Record<string, [unknown, string]>> = {
    'has a type that is none': [{ type: 'strng' }, 'schema is invalid'],
    'refers to somewhere else': [{ $ref: 'https://example.com/other.json' }, "can't resolve reference"],
    'is of a draft that is not known': [{ $schema: 'https://example.com/draft', type: 'string' }, 'no schema with key'],
    'has a pattern that is none': [{ type: 'string', pattern: '(' }, 'Invalid regular expression'],
    'answers later': [{ $async: true, type: 'string' }, '$async'],
  };
  for (const [what, [schema, problem]] of Object.entries(broken)) {
    it(`that ${what} refuses everything, naming the image and the problem`, async () => {
      const kernel = await openKernelWith(schema);
      for (let times = 0; times < 2; times++) {
        expect(await refusal(spawnCounted(kernel, 'text'))).toMatchObject({
          code: 'INVALID_INPUT',
          facts: { path: 'spec.args', image: 'counted@1', problem: expect.stringContaining(problem) },
        });
      }
    });
  }

  it('does not load its compiler before it is used', () => {
    const program = `
      import { createKernel, externalImage } from './src/index.ts';
      import { createRequire } from 'node:module';
      const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((name) => name.includes('/ajv/'));
      const image = externalImage({ name: 'x', input: { type: 'number' } });
      const kernel = await createKernel({ logger: 'silent', images: [image] });
      const before = isLoaded();
      await kernel.processes.spawn({ image: 'x', args: 1 });
      console.log(before, isLoaded());
      await kernel.shutdown();
    `;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('false true\n');
  });
});

describe('a Standard Schema as the input of an image', () => {
  it('gives its processes what it makes of the arguments', async () => {
    const input = z.object({ n: z.number().default(5) });
    const kernel = await openKernel({ images: [defineImage({ name: 'counted', input, run: (_ctx, args) => args })] });
    const pid = await spawnCounted(kernel, {});
    expect((await kernel.processes.result(pid)).value).toEqual({ n: 5 });
    expect(await refusal(spawnCounted(kernel, { n: 'x' }))).toMatchObject({ facts: { path: 'spec.args.n' } });
  });
});

describe('what is no schema', () => {
  class Instance {
    readonly type = 'object';
  }
  const bad: Readonly<Record<string, unknown>> = {
    'a text': 'number',
    'a list': [{ type: 'number' }],
    nothing: null,
    'a function': () => true,
    'an empty object': {},
    'an object without a keyword': { n: 'number' },
    'an instance of a class': new Instance(),
    'data with a function in it': { type: 'object', properties: { n: () => 1 } },
    'a Standard Schema without a function': { '~standard': { version: 1, validate: 'yes' } },
  };
  for (const [what, input] of Object.entries(bad)) {
    it(`is refused when the image is registered: ${what}`, async () => {
      const kernel = await openKernel();
      const image = externalImage({ name: 'counted', input: input as Schema });
      expect(() => kernel.images.register(image)).toThrow(
        expect.objectContaining({
          code: 'INVALID_INPUT',
          facts: expect.objectContaining({ path: expect.stringMatching(/^image\.input/) }),
        }),
      );
      expect(kernel.images.list()).toEqual(['base@1']);
    });
  }
});
