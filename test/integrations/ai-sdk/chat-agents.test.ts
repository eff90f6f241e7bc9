import { describe, expect, it, onTestFinished } from 'vitest';
import { type CapabilitySpec, type Kernel, type Pid, type Tool } from '../../../src/index.js';
import { type AgentSpec, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { eventually } from '../../support/eventually.js';
import { add } from '../../support/integrations/agent-fixture.js';
import {
  type ChatReply,
  type ChatRequest,
  ChatServer,
  chatModel,
  secretKey,
} from '../../support/integrations/chat-server.js';
import { openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const callModel: CapabilitySpec = { resource: 'model:local/**', rights: ['call'] };
const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };
/** Short retry delays, so that tests do not wait. */
const retry = { attempts: 3, baseMs: 5 };

describe('an agent on a server', () => {
  it('has a conversation with tools, which is charged by what the server reports', async () => {
    const { kernel, pid, server } = await startServedAgent(
      ({ messages }) => {
        const told = messages.at(-1);
        if (told?.role === 'tool') return { text: `It is ${told.content}.` };
        return { text: 'Let me see.', calls: [['math_add', { a: 2, b: 2 }]] };
      },
      { system: 'You add.' },
    );
    expect(await kernel.processes.result(pid)).toMatchObject({
      value: {
        text: 'It is 4.',
        turns: 2,
        finishReason: 'stop',
        usage: { inputTokens: 80, cachedInputTokens: 16, outputTokens: 4, totalTokens: 84 },
      },
    });
    expect((await kernel.processes.get(pid)).used.tokens).toBe(84);
    const [, second] = server.requests;
    expect(second?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(second?.tools?.map((tool) => tool.function.name)).toContain('math_add');
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is cancelled in the middle of a turn: the request is given up, and nothing is asked any more', async () => {
    const { kernel, pid, server } = await startServedAgent(() => new Promise(() => undefined));
    await eventually(() => expect(server.requests).toHaveLength(1));
    await kernel.processes.cancel(pid, 'not needed');
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'not needed' },
    });
    await eventually(() => expect(server.abandoned).toBe(1));
    expect(server.requests).toHaveLength(1);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 0, reserved: 0 });
  });

  it('asks again after an error that may pass', async () => {
    let failures = 0;
    const { kernel, pid, server } = await startServedAgent(() =>
      ++failures < 3 ? { status: 503, message: 'overloaded' } : { text: 'At last.' },
    );
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'At last.', turns: 1 } });
    expect(server.requests).toHaveLength(3);
    expect((await kernel.processes.get(pid)).used.tokens).toBe(42);
    const failed = (await kernel.events.list({ pid, types: ['step.failed'] })).items;
    expect(failed.map(({ data }) => data)).toMatchObject([
      { name: 'turn 1', attempt: 1, code: 'MODEL_FAILED' },
      { name: 'turn 1', attempt: 2, code: 'MODEL_FAILED' },
    ]);
  });

  it('keeps the delay that the server asks for', async () => {
    let requests = 0;
    const { kernel, pid } = await startServedAgent(() =>
      ++requests === 1
        ? { status: 429, message: 'slow down', headers: { 'retry-after': '3600' } }
        : { text: 'never in this test' },
    );
    await eventually(async () => {
      const { wait } = await kernel.processes.get(pid);
      const [failed] = (await kernel.events.list({ pid, types: ['step.failed'] })).items;
      expect([failed?.data.code, (wait?.deadline ?? 0) - (failed?.at ?? 0)]).toEqual(['MODEL_FAILED', 3_600_000]);
    });
    expect(requests).toBe(1);
    await kernel.processes.kill(pid);
  });

  it('does not ask again by an authority that was taken from it meanwhile', async () => {
    const { kernel, pid, server } = await startServedAgent(async () => {
      const held = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === callModel.resource);
      await kernel.capabilities.revoke(held?.id ?? '');
      return { status: 503, message: 'overloaded' };
    });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'CAPABILITY_DENIED', evidence: { facts: { code: 'REVOKED', resource: 'model:local/small' } } },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('fails with what the server says when it does not pass, or cannot', async () => {
    const busy = await startServedAgent(() => ({ status: 500, message: 'out of order' }));
    expect(await busy.kernel.processes.result(busy.pid)).toMatchObject({
      status: 'failed',
      message: 'Model local/small failed: out of order',
      outcome: { reason: 'MODEL_FAILED', evidence: { facts: { model: 'model:local/small', statusCode: 500 } } },
    });
    expect(busy.server.requests).toHaveLength(3);
    const wrong = await startServedAgent(() => ({ status: 400, message: 'no such model' }));
    expect(await wrong.kernel.processes.result(wrong.pid)).toMatchObject({
      message: 'Model local/small failed: no such model',
    });
    expect(wrong.server.requests).toHaveLength(1);
    const nobody = await startServedAgent(() => ({ text: 'never' }), { model: chatModel('http://127.0.0.1:1/v1') });
    expect(await nobody.kernel.processes.result(nobody.pid)).toMatchObject({ outcome: { reason: 'MODEL_FAILED' } });
  });

  it('writes no key down, also where the server repeats it', async () => {
    const message = `Incorrect API key provided: ${secretKey}. You sent "Authorization: Bearer ${secretKey}".`;
    const { kernel, pid } = await startServedAgent(() => ({ status: 401, message }));
    const { outcome } = await kernel.processes.result(pid);
    expect(outcome.evidence?.message).toContain('Incorrect API key provided: ***');
    const written: string[] = [];
    for await (const line of kernel.audit.export()) written.push(line);
    written.push(JSON.stringify(await kernel.processes.get(pid)), JSON.stringify(await kernel.events.list({ pid })));
    for (const text of written) {
      expect(text).not.toContain(secretKey);
      expect(text).not.toContain('of the server');
    }
  });
});

/** Starts an agent whose model is served by a chat server with this script. */
async function startServedAgent(
  script: (request: ChatRequest) => ChatReply | Promise<ChatReply>,
  spec: Partial<AgentSpec> = {},
  tools: Tool[] = [add],
): Promise<{ kernel: Kernel; pid: Pid; server: ChatServer }> {
  const server = new ChatServer(script);
  onTestFinished(() => server.close());
  const model = chatModel(await server.listen());
  const kernel = await openKernel({ tools, images: [agentImage({ name: 'agent', model, retry, ...spec })] });
  const pid = await kernel.processes.spawn({ image: 'agent', goal: 'Go.', capabilities: [callModel, callTools] });
  return { kernel, pid, server };
}
