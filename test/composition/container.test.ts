import { ContainerModule } from 'inversify';
import { expect, it } from 'vitest';
import { Clock, createKernel, Entropy, type KernelModule, type Token } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

interface Greeter {
  greet(): string;
}
const greeterToken = Symbol('Greeter') as Token<Greeter>;

it('gives the services of the kernel, and those that a module binds', async () => {
  const greeter = new ContainerModule(({ bind }) => {
    bind(greeterToken).toConstantValue({ greet: () => 'hello' });
  });
  const { container } = await openKernel({ modules: [greeter] });
  expect(container.get(Clock).now()).toBeGreaterThan(0);
  expect(container.get(greeterToken).greet()).toBe('hello');
  expect(Object.keys(container)).toEqual(['get']);
});

it('refuses a token that nothing is bound to', async () => {
  const { container } = await openKernel();
  const lookUp = async (token: unknown) => container.get(token as Token<Greeter>);
  expect(await refusal(lookUp(greeterToken))).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'token' } });
  expect(await refusal(lookUp(undefined))).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'token' } });
});

it('takes a module of another copy of inversify, and bytes of a plain array', async () => {
  let asked = 0;
  const random: KernelModule = {
    id: 1,
    load({ bind }: { bind: (token: unknown) => { toConstantValue(value: Entropy): void } }) {
      bind(Entropy).toConstantValue({
        bytes: (length) => {
          asked++;
          return Uint8Array.from({ length }, () => Math.floor(Math.random() * 256));
        },
      });
    },
  };
  const { processes, audit } = await openKernel({ modules: [random] });
  await processes.spawn({ goal: 'work' });
  expect((await audit.verify()).ok).toBe(true);
  expect(asked).toBeGreaterThan(0);
});

it('refuses what is no module', async () => {
  const open = async (module: unknown) => createKernel({ store: await newStore(), modules: [module as KernelModule] });
  for (const module of [{}, () => undefined, null, 'module'])
    expect(await refusal(open(module))).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'options.modules.0' } });
});
