import type { InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { FunctionApp } from '../loading/function-app.js';
import type { FunctionCallback } from '../loading/functions-core.js';
import { ContextSignals } from './context-signal.js';
import { InFlight } from './in-flight.js';
import { invocationOf, loadedFunction } from './invocation.test.fixture.js';
import { legacyModel } from './legacy/legacy-model.js';
import { LoopTurns } from './loop-turns.js';
import { runInvocation, type Outcome } from './run-invocation.js';
import { withFastPath } from './v4/fast-model.js';
import { loadLibrary } from './v4/library.test.fixture.js';

const metadata = {
  name: 'test',
  bindings: {
    item: { type: 'queueTrigger', direction: 'in' },
    doc: { type: 'cosmosDB', direction: 'in' },
    sent: { type: 'blob', direction: 'in' },
  },
};
const inputData = [
  { name: 'item', data: { string: 'x' } },
  { name: 'sent', data: { string: 'y' } },
];
const problem = 'The input "doc" has the type cosmosDB, which the host does not support, so it has no value.';

describe('an input that the host did not send', () => {
  const model = withFastPath(
    loadLibrary((library) => library.app.generic('unused', { trigger: { type: 'x', name: 'x' }, handler: () => 1 }))
      .model,
  );
  const run = (callback: FunctionCallback, which = model): Promise<Outcome> => {
    const { invocation } = invocationOf(loadedFunction(which, metadata, callback), { inputData });
    return runInvocation(invocation, new FunctionApp(() => undefined), {
      signals: new ContextSignals(new InFlight()),
      turns: new LoopTurns(),
    });
  };
  const v4 = (use: (context: InvocationContext) => unknown): Promise<Outcome> =>
    run((...args) => use(args.at(-1) as InvocationContext)); // the last argument of every v4 handler

  it.each([['in the library'], ['on the fast path']])('fails a v4 function that reads it, %s', async () => {
    expect(await v4((context) => context.extraInputs.get('doc'))).toMatchObject({ thrown: { message: problem } });
    expect(await v4((context) => context.extraInputs.get({ name: 'doc', type: 'cosmosDB' }))).toHaveProperty('thrown');
  });

  it('does not matter to a function that does not read it, or whose hook has set it', async () => {
    expect(await v4((context) => ({ sent: context.extraInputs.get('sent') }))).toMatchObject({
      response: { returnValue: { json: '{"sent":"y"}' } },
    });
    const set = await v4((context) => {
      context.extraInputs.set('doc', 'mine');
      return { doc: context.extraInputs.get('doc') };
    });
    expect(set).toMatchObject({ response: { returnValue: { json: '{"doc":"mine"}' } } });
  });

  it('fails a v3 function that reads it, and no other', async () => {
    const v3 = (use: (bindings: Record<string, unknown>) => unknown): Promise<Outcome> =>
      run(async (context) => use((context as { bindings: Record<string, unknown> }).bindings), legacyModel);
    expect(await v3(({ doc }) => doc)).toMatchObject({ thrown: { message: problem } });
    expect(await v3(({ sent }) => sent)).toHaveProperty('response');
    expect(await v3((bindings) => ((bindings['doc'] = 1), { ...bindings }['doc']))).toHaveProperty('response');
  });
});
