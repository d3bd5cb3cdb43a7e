import { hasCode } from '@drover/contracts';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { triggerSourceErrors, type InputValue } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { httpFunction, responseOf } from '../bindings/definition.test.fixture.js';
import { compileInputs, type InputPlan, type InputPlanner } from '../bindings/inputs.js';
import { InputInvoker } from './input-invoker.js';
import type { InvocationCall, InvocationOutcome } from './invocation-call.js';

const blob = { name: 'photo', type: 'blob', direction: 'in', path: 'photos/{id}.png' };
const table = { name: 'rows', type: 'table', direction: 'in', tableName: 'people', filter: "Name eq '{name}'" };
const succeeded: InvocationOutcome = { kind: 'succeeded', invocationId: 'i', response: responseOf({}) };

interface BenchOptions {
  readonly read?: (plan: InputPlan, signal: AbortSignal) => Promise<InputValue>;
  readonly bindings?: readonly object[];
  readonly data?: Readonly<Record<string, unknown>>;
}

function bench({
  read = async () => undefined,
  bindings = [blob, table],
  data = { id: 7, name: 'Ann' },
}: BenchOptions = {}) {
  const definition = httpFunction('show', {}, ...bindings);
  const compiled = compileInputs(definition);
  if ('problem' in compiled) throw new Error(compiled.problem);
  const planners = new Map<string, InputPlanner>([['show', compiled.value]]);
  const ran: InvocationCall[] = [];
  const plans: InputPlan[] = [];
  const invoker = new InputInvoker({
    inner: {
      invoke: async (call) => {
        ran.push(call);
        return succeeded;
      },
    },
    planners,
    read: (functionName, plan, signal) => {
      expect(functionName).toBe('show');
      plans.push(plan);
      return read(plan, signal);
    },
    clock: new FakeClock(),
    randomness: seededRandomness(1),
  });
  const gone = new AbortController();
  const call: InvocationCall = {
    definition,
    inputs: () => ({
      inputData: [{ name: 'req', data: { string: 'request' } }],
      triggerMetadata: { id: { string: '7' } },
    }),
    bindingData: () => data,
    trace: {},
    signal: gone.signal,
  };
  return { invoker, call, ran, plans, gone };
}

describe('InputInvoker', () => {
  it('reads every input with its expressions evaluated, and adds the values behind the data of the trigger', async () => {
    const values: Record<string, InputValue> = {
      photo: { bytes: Uint8Array.of(1) },
      rows: { json: '[{"RowKey":"1"}]' },
    };
    const { invoker, call, ran, plans } = bench({ read: async ({ binding }) => values[binding.name] });
    expect(await invoker.invoke(call)).toBe(succeeded);
    expect(plans.map(({ options }) => options['path'] ?? options['filter'])).toEqual(['photos/7.png', "Name eq 'Ann'"]);
    expect(ran[0]?.inputs({})).toEqual({
      inputData: [
        { name: 'req', data: { string: 'request' } },
        { name: 'photo', data: { bytes: Uint8Array.of(1) } },
        { name: 'rows', data: { json: '[{"RowKey":"1"}]' } },
      ],
      triggerMetadata: { id: { string: '7' } },
    });
  });

  it('gives the function no value for an input that has none', async () => {
    const { invoker, call, ran } = bench({ bindings: [blob] });
    await invoker.invoke(call);
    expect(ran[0]?.inputs({}).inputData.at(-1)).toEqual({ name: 'photo', data: {} });
  });

  it('reads the inputs of a function at the same time, not one after the other', async () => {
    let reading = 0;
    let most = 0;
    const { invoker, call } = bench({
      read: async () => {
        reading += 1;
        most = Math.max(most, reading);
        await new Promise((resolve) => setImmediate(resolve));
        reading -= 1;
        return undefined;
      },
    });
    await invoker.invoke(call);
    expect(most).toBe(2);
  });

  it('does not run the function if an input cannot be read, and says which', async () => {
    const { invoker, call, ran } = bench({
      read: async ({ binding }) => {
        if (binding.name === 'rows') throw new Error('no answer');
        return undefined;
      },
    });
    const outcome = await invoker.invoke(call);
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: {
        code: 'FUNCTION_INPUT_FAILED',
        retryable: true,
        message: 'Function show, input "rows" could not be read: no answer',
      },
    });
    expect(ran).toEqual([]);
  });

  it('keeps the code of an error that has one: a customer error is not retried', async () => {
    const { invoker, call } = bench({
      read: async () => {
        throw triggerSourceErrors.triggerOptionsInvalid({ functionName: 'show', problems: ['its blob input'] });
      },
    });
    const outcome = await invoker.invoke(call);
    expect(outcome.kind === 'failed' && hasCode(outcome.error, 'TRIGGER_OPTIONS_INVALID')).toBe(true);
  });

  it('fails without a read if an expression has no value', async () => {
    const { invoker, call, plans, ran } = bench({ data: {} });
    expect(await invoker.invoke(call)).toMatchObject({
      kind: 'failed',
      error: { code: 'BINDING_EXPRESSION_FAILED', retryable: false },
    });
    expect([plans, ran]).toEqual([[], []]);
  });

  it('aborts reads when the caller leaves', async () => {
    const { invoker, call, gone, ran } = bench({
      read: (_, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        ),
    });
    const running = invoker.invoke(call);
    gone.abort(new Error('the caller left'));
    expect(await running).toMatchObject({ kind: 'failed', error: { code: 'FUNCTION_INPUT_FAILED' } });
    expect(ran).toEqual([]);
  });

  it('passes a function without inputs on as it is', async () => {
    const { invoker, call, ran } = bench({ bindings: [] });
    await invoker.invoke(call);
    expect(ran).toEqual([call]);
  });
});
