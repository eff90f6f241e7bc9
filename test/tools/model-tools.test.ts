import { expect, it } from 'vitest';
import type { JsonObject, ProcessFace } from '../../src/index.js';
import { anyCommand, commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { eventually } from '../support/eventually.js';
import { openKernel, refusal } from '../support/kernel.js';

const anyTool = { resource: 'tool:**', rights: ['call' as const] };

const call = async (face: ProcessFace, tool: string, args: JsonObject = {}) =>
  (await face.tools.call(tool, args)) as JsonObject;

it('message.receive takes the oldest message, of one sender if that is named, and tells that none has come', async () => {
  const kernel = await openKernel();
  const pid = await kernel.processes.spawn({ capabilities: [anyTool] });
  const child = await kernel.processes.spawnChild(pid, {});
  const face = kernel.as(pid);
  expect(await call(face, 'message.receive', { timeoutMs: 0 })).toEqual({ received: false });
  await kernel.processes.send(pid, 'from the host');
  await kernel.as(child).send(pid, { from: 'the child' });
  const ofChild = await call(face, 'message.receive', { from: child });
  expect(ofChild).toMatchObject({ received: true, message: { from: child, body: { from: 'the child' } } });
  expect(await call(face, 'message.receive', { timeoutMs: 0 })).toMatchObject({ message: { from: 'host' } });
  const waiting = call(face, 'message.receive');
  await kernel.processes.send(pid, 'late');
  expect(await waiting).toMatchObject({ received: true, message: { body: 'late' } });
});

it('a command in the background is read and stopped by its pid, and its end is a message', async () => {
  const { kernel, pid } = await commandFixture({ capabilities: [anyCommand, anyTool] });
  const face = kernel.as(pid);
  const seconds = uniqueSeconds();
  const script = `echo one; echo two >&2; exec sleep ${seconds}`;
  const { pid: command } = await call(face, 'command.run', { argv: ['sh', '-c', script], background: true });
  const first = await eventually(async () => {
    const part = await call(face, 'command.output', { pid: command as string });
    expect(part.text).toBe('one\n');
    return part;
  });
  expect(first).toMatchObject({ next: 4, size: 4, ended: false });
  expect(await call(face, 'command.output', { pid: command as string, after: 4 })).toMatchObject({ text: '' });
  await eventually(async () => {
    const part = await call(face, 'command.output', { pid: command as string, stream: 'stderr' });
    expect(part.text).toBe('two\n');
  });
  expect(await call(face, 'command.stop', { pid: command as string, graceMs: 0 })).toEqual({ stopped: true });
  await kernel.processes.result(command as string);
  expect(findOsProcesses(seconds)).toEqual([]);
  expect(await call(face, 'command.output', { pid: command as string })).toMatchObject({ ended: true });
  expect(await call(face, 'command.stop', { pid: command as string })).toEqual({ stopped: false });
  expect((await kernel.processes.get(command as string)).deadlineAt).toBeUndefined();
});

it('the end of a command in the background is received as a message', async () => {
  const { kernel, pid } = await commandFixture({ capabilities: [anyCommand, anyTool] });
  const face = kernel.as(pid);
  const { pid: command } = await call(face, 'command.run', { argv: ['sh', '-c', 'exit 3'], background: true });
  expect(await call(face, 'message.receive')).toMatchObject({
    received: true,
    message: { kind: 'command.ended', body: { exitCode: 3, pid: command } },
  });
});

it('command.stop refuses what is no command, and output what is not its own', async () => {
  const { kernel, pid } = await commandFixture({ capabilities: [anyTool] });
  const child = await kernel.processes.spawnChild(pid, {});
  const face = kernel.as(pid);
  expect(await refusal(call(face, 'command.stop', { pid: child }))).toMatchObject({ code: 'INVALID_TRANSITION' });
  expect((await kernel.processes.get(child)).status).toBe('created');
  const stranger = await kernel.processes.spawn({});
  expect(await refusal(call(face, 'command.stop', { pid: stranger }))).toMatchObject({ code: 'NOT_A_CHILD' });
  expect(await refusal(call(face, 'command.output', { pid: stranger }))).toMatchObject({ code: 'NOT_A_CHILD' });
});

it('process.fork gives a child the memory of its parent, and memory.merge takes over what it wrote', async () => {
  const kernel = await openKernel();
  const pid = await kernel.processes.spawn({
    capabilities: [{ ...anyTool, delegable: true }],
    budget: { children: 1 },
  });
  const face = kernel.as(pid);
  await call(face, 'memory.write', { name: 'plan', payload: { step: 1 } });
  const delegate = [{ resource: 'tool:memory.read', rights: ['call'] }];
  const { pid: child } = await call(face, 'process.fork', { mode: 'copy', goal: 'Go on', delegate });
  const inside = kernel.as(child as string);
  const found = await inside.memory.query({ text: 'step' });
  const object = found.items.find(({ name }) => name === 'plan')?.id ?? '';
  await inside.memory.update(object, { step: 2 });
  expect(await call(face, 'memory.read', { name: 'plan' })).toMatchObject({ payload: { step: 1 } });
  expect(await refusal(call(face, 'memory.merge', { child: child as string }))).toMatchObject({
    code: 'INVALID_TRANSITION',
  });
  await kernel.processes.exit(child as string);
  expect(await call(face, 'memory.merge', { child: child as string })).toMatchObject({
    merged: [object],
    conflicts: 0,
  });
  expect(await call(face, 'memory.read', { name: 'plan' })).toMatchObject({ payload: { step: 2 } });
  const wider = call(face, 'process.fork', { delegate: [{ resource: 'fs:**', rights: ['read'] }] });
  expect(await refusal(wider)).toMatchObject({ code: 'AMPLIFICATION' });
  expect(await kernel.processes.children(pid)).toHaveLength(1);
});
