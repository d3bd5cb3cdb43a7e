import { FakeClock, seededRandomness } from '@drover/testkit';
import type { OutputMessage } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { httpFunction, responseOf } from '../bindings/definition.test.fixture.js';
import { compileOutputs, type OutputPlanner } from '../bindings/outputs.js';
import type { InvocationOutcome } from './invocation-call.js';
import { OutputInvoker } from './output-invoker.js';
import { PendingOutputs } from './pending-outputs.js';

const definition = httpFunction('order', {}, { name: 'items', type: 'queue', direction: 'out', queueName: 'items' });
const returned: InvocationOutcome = {
  kind: 'succeeded',
  invocationId: 'i',
  response: responseOf({ outputData: [{ name: 'items', data: { string: 'one' } }] }),
};

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

function bench() {
  const compiled = compileOutputs(definition);
  const planners = new Map<string, OutputPlanner>();
  if ('value' in compiled) planners.set('order', compiled.value);
  const pending = new PendingOutputs();
  const ended = deferred<InvocationOutcome>();
  const written = deferred<void>();
  const sent: (readonly OutputMessage[])[] = [];
  const invoker = new OutputInvoker({
    inner: { invoke: () => ended.promise },
    planners,
    pending,
    target: () => ({
      send: async (messages, signal) => {
        signal.throwIfAborted();
        sent.push(messages);
        await written.promise;
      },
    }),
    clock: new FakeClock(),
    randomness: seededRandomness(1),
    observe: () => undefined,
  });
  const gone = new AbortController();
  const running = invoker.invoke({
    definition,
    inputs: () => ({ inputData: [], triggerMetadata: {} }),
    trace: {},
    signal: gone.signal,
  });
  return { pending, ended, written, sent, gone, running };
}

describe('OutputInvoker', () => {
  it('writes the outputs of a function whose caller has left', async () => {
    const { gone, ended, written, sent, running } = bench();
    gone.abort();
    ended.resolve(returned);
    written.resolve();
    expect(await running).toMatchObject({ kind: 'succeeded' });
    expect(sent).toEqual([[{ body: 'one' }]]);
  });

  it('holds up a drain while its function runs and while its outputs are written', async () => {
    const { pending, ended, written, running } = bench();
    let isDrained = false;
    const drained = pending.drain(new AbortController().signal).then(() => (isDrained = true));
    ended.resolve(returned);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDrained).toBe(false);
    written.resolve();
    await running;
    await drained;
  });

  it('gives up outputs when the runtime stops, and a drain at its deadline', async () => {
    const { pending, ended, running } = bench();
    const deadline = new AbortController();
    const drained = pending.drain(deadline.signal);
    deadline.abort();
    await drained;
    await pending.stop();
    ended.resolve(returned);
    expect(await running).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_OUTPUT_FAILED' } });
  });
});
