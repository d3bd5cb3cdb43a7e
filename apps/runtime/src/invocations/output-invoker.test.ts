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
    inner: {
      invoke: async ({ finish }) => {
        const outcome = await ended.promise;
        return outcome.kind === 'succeeded' && finish ? finish(outcome) : outcome;
      },
    },
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
  it('fails an invocation whose output fails, with the outputs that were written before', async () => {
    const outputs = ['one', 'two', 'three'].map((name) => ({ name, type: 'queue', direction: 'out', queueName: name }));
    const several = httpFunction('order', {}, ...outputs);
    const compiled = compileOutputs(several);
    const observed: unknown[] = [];
    const invoker = new OutputInvoker({
      inner: {
        invoke: async ({ finish }) => (await finish?.(response)) ?? expect.unreachable(),
      },
      planners: new Map('value' in compiled ? [['order', compiled.value]] : []),
      pending: new PendingOutputs(),
      target: (_, { binding }) => ({
        send: async () => {
          if (binding.name === 'three') throw new Error('the service is away.');
        },
      }),
      clock: new FakeClock(),
      randomness: seededRandomness(1),
      observe: (observation) => observed.push(observation),
    });
    const data = { json: '["a","b"]' };
    const response = {
      kind: 'succeeded' as const,
      invocationId: 'i',
      response: responseOf({ outputData: outputs.map(({ name }) => ({ name, data })) }),
    };
    const inputs = () => ({ inputData: [], triggerMetadata: {} });
    expect(await invoker.invoke({ definition: several, inputs, trace: {} })).toMatchObject({
      kind: 'failed',
      invocationId: 'i',
      error: {
        code: 'RUNTIME_OUTPUT_FAILED',
        status: 500,
        retryable: true,
        message:
          'Function order ran, but its output "three" could not be written: the service is away. Some of its 2 messages may have been written. Already written: "one", "two"; a repeated call writes them again. Check the connection of the output.',
      },
    });
    expect(observed).toMatchObject([{ kind: 'output.failed', binding: 'three', written: ['one', 'two'] }]);
  });

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
