import { expectTypeOf, test } from 'vitest';
import type { EventType, JsonObject, Kernel, KernelEvent, ObjectId, Pid } from '../../src/index.js';

declare const events: Kernel['events'];

type Exited = { status: string; outcome: string; result: ObjectId | null; parent?: Pid };

test('the data of an event are those of its type', () => {
  expectTypeOf<KernelEvent<'process.moved'>['data']>().toEqualTypeOf<{ cwd: string }>();
  // @ts-expect-error: there is no such event type.
  expectTypeOf<KernelEvent<'process.mooved'>>().toBeObject();
});

test('on gives its listener the events of the type', () => {
  events.on('process.exited', (event) => {
    expectTypeOf(event).toEqualTypeOf<KernelEvent<'process.exited'>>();
    expectTypeOf(event.data).toEqualTypeOf<Exited>();
    // @ts-expect-error: the data of another type.
    event.data.cwd;
  });
  events.on('user.found', ({ data }) => expectTypeOf(data).toEqualTypeOf<JsonObject>());
  events.on('*', (event) => {
    expectTypeOf(event).toEqualTypeOf<KernelEvent>();
    if (event.type === 'process.exited') expectTypeOf(event.data).toEqualTypeOf<Exited>();
    // @ts-expect-error: the type is not known.
    event.data.outcome;
  });
  // @ts-expect-error: there is no such event type.
  events.on('process.exitted', () => undefined);
  // @ts-expect-error: the listener is for events of another type.
  events.on('process.exited', (_: KernelEvent<'process.moved'>) => undefined);
});

test('stream gives the events of the types that are named', async () => {
  for await (const event of events.stream({ types: ['process.exited'], after: 7 })) {
    expectTypeOf(event).toEqualTypeOf<KernelEvent<'process.exited'>>();
    expectTypeOf(event.data.outcome).toBeString();
    // @ts-expect-error: the data of another type.
    event.data.cwd;
  }
  for await (const event of events.stream()) expectTypeOf(event).toEqualTypeOf<KernelEvent>();
  for await (const event of events.stream({ pid: 'p_1' })) expectTypeOf(event).toEqualTypeOf<KernelEvent>();
  // @ts-expect-error: there is no such event type.
  events.stream({ types: ['process.exitted'] });
  // @ts-expect-error: one of them is no event type.
  events.stream({ types: ['process.exited', 'process.mooved'] });
});

test('several types give a union that the type tells apart', async () => {
  for await (const event of events.stream({ types: ['process.exited', 'process.moved'] })) {
    expectTypeOf(event).toEqualTypeOf<KernelEvent<'process.exited' | 'process.moved'>>();
    if (event.type === 'process.moved') expectTypeOf(event.data).toEqualTypeOf<{ cwd: string }>();
    else expectTypeOf(event.data).toEqualTypeOf<Exited>();
    // @ts-expect-error: the event cannot have this type.
    expectTypeOf(event.type === 'process.spawned').toBeBoolean();
  }
});

test('list gives the events of the types that are named', async () => {
  const { items } = await events.list({ types: ['budget.exceeded', 'user.found'], limit: 5 });
  expectTypeOf(items).toEqualTypeOf<KernelEvent<'budget.exceeded' | 'user.found'>[]>();
  expectTypeOf((await events.list({ limit: 5 })).items).toEqualTypeOf<KernelEvent[]>();
  const types = ['process.moved'] as const;
  expectTypeOf((await events.list({ types })).items).toEqualTypeOf<KernelEvent<'process.moved'>[]>();
  const chosen: EventType[] = [];
  expectTypeOf((await events.list({ types: chosen })).items).toEqualTypeOf<KernelEvent[]>();
  // @ts-expect-error: there is no such event type.
  await events.list({ types: ['budget.exceded'] });
});
