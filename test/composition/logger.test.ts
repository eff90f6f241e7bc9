import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createKernel, defineImage, type KernelOptions, Logger } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, refusal, tempFolder } from '../support/kernel.js';

const boom = defineImage({
  name: 'boom',
  run: async (_ctx, { text }: { text: string }) => {
    throw new Error(text);
  },
});

describe('a kernel without a logger', () => {
  it('writes a line to standard error for a body that fails, with its message and pid', async () => {
    const written = captureStderr();
    const kernel = await opened({ images: [boom] });
    const pid = await kernel.processes.spawn({ image: 'boom', args: { text: 'no luck' } });
    await kernel.processes.result(pid);
    const lines = await eventually(() => {
      expect(written.lines()).toHaveLength(1);
      return written.lines();
    });
    expect(lines[0]).toMatch(/^procura: error: a body failed: Error: no luck \{.*\}$/);
    expect(lines[0]).toContain(`"pid":"${pid}"`);
  });

  it('is the same as console', async () => {
    const written = captureStderr();
    const kernel = await opened({ images: [boom], logger: 'console' });
    await kernel.processes.result(await kernel.processes.spawn({ image: 'boom', args: { text: 'no luck' } }));
    await eventually(() => expect(written.text()).toContain('no luck'));
    expect(written.text()).not.toContain('debug');
  });

  it('writes each message on one line of at most 1 KiB, whatever is in it', async () => {
    const written = captureStderr();
    const kernel = await opened({ images: [boom] });
    const texts = ['two\nlines\r\x1b[31m\u202e\u2028\u0085', `${'ä€😀'.repeat(2_000)}`, 'x'.repeat(100_000)];
    for (const text of texts)
      await kernel.processes.result(await kernel.processes.spawn({ image: 'boom', args: { text } }));
    const logger = kernel.container.get<Logger>(Logger);
    logger.warn({ long: 'ä'.repeat(5_000), list: ['\x07'] }, 'long facts');
    await eventually(() => expect(written.text().split('\n')).toHaveLength(5));
    for (const line of written.text().split('\n')) {
      expect(Buffer.byteLength(`${line}\n`)).toBeLessThanOrEqual(1_024);
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd]/u);
    }
    expect(written.text()).toContain('two\\nlines');
    expect(written.lines().filter((line) => line.includes('"pid":"'))).toHaveLength(3);
  });

  it('writes the same message once in 10 s, then how often it came', async () => {
    const written = captureStderr();
    const kernel = await opened();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const logger = kernel.container.get<Logger>(Logger);
    for (let n = 1; n <= 40; n++) logger.warn({ n }, 'again');
    logger.error({}, 'again');
    logger.warn({}, 'something else');
    expect(written.lines()).toEqual([
      'procura: warning: again {"n":1}',
      'procura: error: again',
      'procura: warning: something else',
    ]);
    vi.advanceTimersByTime(9_999);
    expect(written.lines()).toHaveLength(3);
    vi.advanceTimersByTime(1);
    expect(written.lines().slice(3)).toEqual(['procura: warning: again (39 more times) {"n":40}']);
    logger.warn({ n: 41 }, 'again');
    expect(written.lines()).toHaveLength(4);
    vi.advanceTimersByTime(20_000);
    expect(written.lines().slice(4)).toEqual(['procura: warning: again (1 more time) {"n":41}']);
    logger.warn({ n: 42 }, 'again');
    expect(written.lines().at(-1)).toBe('procura: warning: again {"n":42}');
  });

  it('writes the counts that are left when it is shut down', async () => {
    const written = captureStderr();
    const kernel = await opened({ images: [boom] });
    for (const pid of await Promise.all(
      [1, 2, 3].map(() => kernel.processes.spawn({ image: 'boom', args: { text: 'no' } })),
    ))
      await kernel.processes.result(pid);
    await kernel.shutdown();
    expect(written.lines()).toHaveLength(2);
    expect(written.lines()[1]).toContain('a body failed: Error: no (2 more times)');
  });

  it('remembers a bounded number of messages, and forgets no count', async () => {
    const written = captureStderr();
    const kernel = await opened();
    const logger = kernel.container.get<Logger>(Logger);
    for (let n = 0; n < 1_000; n++) for (let again = 0; again < 2; again++) logger.warn({}, `message ${n}`);
    await kernel.shutdown();
    expect(written.lines().filter((line) => line.endsWith('(1 more time)'))).toHaveLength(1_000);
    expect(written.lines()).toHaveLength(2_000);
  });
});

describe('the option logger', () => {
  it('silent writes nothing', async () => {
    const written = captureStderr();
    const kernel = await opened({ images: [boom], logger: 'silent' });
    await kernel.processes.result(await kernel.processes.spawn({ image: 'boom', args: { text: 'no luck' } }));
    await kernel.shutdown();
    expect(written.text()).toBe('');
  });

  it('debug writes what is committed as well', async () => {
    const written = captureStderr();
    const kernel = await opened({ images: [boom], logger: 'debug' });
    const pid = await kernel.processes.spawn({ image: 'boom', args: { text: 'no luck' } });
    await kernel.processes.result(pid);
    await eventually(() => {
      expect(written.text()).toMatch(new RegExp(`^procura: debug: event \\d+ process.spawned \\{"pid":"${pid}"`, 'm'));
      expect(written.text()).toMatch(/^procura: error: a body failed: Error: no luck /m);
    });
  });

  it('takes an object of one’s own, which may fail', async () => {
    const written = captureStderr();
    const told: unknown[] = [];
    const logger = {
      warn: () => undefined,
      error(facts: object, message: string): void {
        told.push([this === logger, facts, message]);
        throw new Error('the logger failed');
      },
    };
    const kernel = await opened({ images: [boom], logger });
    const pid = await kernel.processes.spawn({ image: 'boom', args: { text: 'no luck' } });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { kind: 'failed' } });
    await kernel.idle();
    const facts = { pid, image: 'boom@1', code: 'Error' };
    expect(told).toEqual([[true, facts, 'a body failed: Error: no luck']]);
    expect(written.text()).toBe('');
  });

  it.each(['loud', '', null, 5, {}, { warn: () => undefined }, () => undefined])('refuses %s', async (logger) => {
    const options = { logger } as never;
    expect(await refusal(createKernel(options))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'options.logger' },
    });
  });
});

async function opened(options: KernelOptions = {}) {
  const kernel = await createKernel({ store: await newStore(), workspace: tempFolder(), ...options });
  onTestFinished(async () => void (await kernel.shutdown()));
  return kernel;
}

/** What is written to standard error until the end of the test, instead of being written. */
function captureStderr(): { text(): string; lines(): string[] } {
  let text = '';
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  onTestFinished(() => spy.mockRestore());
  return { text: () => text, lines: () => text.split('\n').slice(0, -1) };
}
