import { StatusResultStatus } from '@drover/function-rpc';
import { message, workerTerminate } from '@drover/function-rpc/testing';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, WorkerUnderTest } from './support/worker-under-test.js';

afterEach(endAll);

const { Success, Failure, Cancelled } = StatusResultStatus;
const input = (text: string) => ({ name: 'input', data: { string: text } });

/** Starts an invocation and waits until its handler has logged something. */
async function running(worker: WorkerUnderTest, functionId: string, text: string): Promise<string> {
  const id = worker.invoke(functionId, input(text));
  await eventually(() => worker.messages.some((one) => one.kind === 'rpcLog' && one.value.invocationId === id));
  return id;
}

describe('InvocationCancel', () => {
  it('aborts the signal in the context of that invocation, and of no other', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const cancelled = await running(worker, 'untilAborted', 'return');
    const other = await running(worker, 'wait', 'x');
    worker.admitted.send(message('invocationCancel', { invocationId: cancelled }));
    const { response } = await worker.finished(cancelled);
    expect(response.result?.status).toBe(Success);
    expect(response.returnValue).toEqual({ string: `Invocation ${cancelled} was cancelled by the host.` });
    worker.invoke('release', input('x'));
    expect((await worker.finished(other)).response.returnValue).toEqual({ string: 'released' });
  });

  it('makes the result cancelled when the handler throws the abort', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const id = await running(worker, 'untilAborted', 'throw');
    worker.admitted.send(message('invocationCancel', { invocationId: id }));
    const { response } = await worker.finished(id);
    expect(response.result).toMatchObject({ status: Cancelled, exception: { type: 'AbortError' } });
  });

  it('of an ended or unknown invocation changes nothing', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    worker.admitted.send(message('invocationCancel', { invocationId: 'never' }));
    const { response } = await worker.call('isAborted', { string: 'x' });
    expect(response.returnValue).toEqual({ json: 'false' });
  });
});

describe('WorkerTerminate', () => {
  it('lets invocations finish, and refuses new ones', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const id = await running(worker, 'wait', 'x');
    worker.admitted.send(workerTerminate(30));
    const refused = worker.invoke('see', input('late'));
    expect((await worker.finished(refused)).response.result).toMatchObject({
      status: Failure,
      exception: { message: 'The worker is terminating.', isUserException: false },
    });
    const answered = worker.messages.flatMap((one) =>
      one.kind === 'invocationResponse' ? [one.value.invocationId] : [],
    );
    expect(answered).not.toContain(id);
    expect(worker.child.process.exitCode).toBeNull();
  });

  it('ends the stream after the last response', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const id = await running(worker, 'untilAborted', 'return');
    worker.admitted.send(workerTerminate(30));
    worker.admitted.send(message('invocationCancel', { invocationId: id }));
    expect((await worker.finished(id)).response.result?.status).toBe(Success);
    expect((await worker.admitted.inbox.ended).kind).toBe('halfClosed');
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
  });

  it('cancels invocations before the grace period is over', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const id = await running(worker, 'untilAborted', 'return');
    worker.admitted.send(workerTerminate(1));
    const { response } = await worker.finished(id);
    expect(response.returnValue).toEqual({ string: 'The worker is terminating.' });
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
  });

  it('does not wait for invocations that will not stop', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    await running(worker, 'wait', 'x');
    worker.admitted.send(workerTerminate(1));
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
    expect(worker.messages.some((one) => one.kind === 'rpcLog' && one.value.message.includes('wait (1)'))).toBe(true);
  });

  it('runs the hooks of the app', async () => {
    const worker = await WorkerUnderTest.withApp('hooks');
    worker.admitted.send(workerTerminate(5));
    await worker.child.exited;
    expect(worker.child.stdout).toContain('appTerminate {"started":true}');
  });

  it('has the same effect as a SIGTERM', async () => {
    const worker = await WorkerUnderTest.withApp('hooks');
    worker.child.kill('SIGTERM');
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
    expect(worker.child.stdout).toContain('appTerminate {"started":true}');
  });
});
