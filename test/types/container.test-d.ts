import { ContainerModule } from 'inversify';
import { expectTypeOf, test } from 'vitest';
import {
  Clock,
  createKernel,
  Entropy,
  type Kernel,
  type KernelModule,
  type KernelOptions,
  Store,
  type Token,
} from '../../src/index.js';

declare const container: Kernel['container'];

test('the container gives the service that a token names', () => {
  expectTypeOf(container.get(Store)).toEqualTypeOf<Store>();
  expectTypeOf(container.get(Entropy)).toEqualTypeOf<Entropy>();
  expectTypeOf(container.get(Clock)).toExtend<Clock>();
  expectTypeOf(container.get({} as Token<{ greet(): string }>)).toEqualTypeOf<{ greet(): string }>();
  // @ts-expect-error: a store is not a clock.
  container.get(Store) satisfies Clock;
  // @ts-expect-error: a name is not a token.
  container.get('Store');
});

test('the container has nothing else', () => {
  expectTypeOf<keyof Kernel['container']>().toEqualTypeOf<'get'>();
  // @ts-expect-error: what is bound is changed by modules only.
  container.rebind(Store);
});

test('a module of inversify is a module of the kernel', () => {
  const module = new ContainerModule(({ bind }) => {
    bind(Entropy).toConstantValue({ bytes: (length) => new Uint8Array(length) });
  });
  expectTypeOf(module).toExtend<KernelModule>();
  expectTypeOf<KernelOptions['modules']>().toEqualTypeOf<readonly KernelModule[] | undefined>();
  createKernel({ modules: [module] });
  // @ts-expect-error: an object without bindings is no module.
  createKernel({ modules: [{}] });
  // @ts-expect-error: a function is no module.
  createKernel({ modules: [() => undefined] });
});
