import type { FunctionApp } from '../loading/function-app.js';
import type { CoreInvocationResponse, InvocationModel } from '../loading/functions-core.js';
import { PostInvocationContext, PreInvocationContext, type HookScope } from '../loading/hook-contexts.js';
import { runHooks } from '../loading/hooks.js';
import type { ContextSignals } from './context-signal.js';
import { toError } from './exceptions.js';
import type { Invocation } from './invocation.js';
import type { LoopTurns } from './loop-turns.js';
import { guardMissingInputs } from './missing-inputs.js';

/** The result of an invocation: the response of the model, or the thrown value. */
export type Outcome = { readonly response: CoreInvocationResponse } | { readonly thrown: unknown };

/**
 * Runs one invocation: arguments, preInvocation hooks, the function, postInvocation hooks, response. Never rejects. The function
 * waits for its turn of the event loop.
 *
 * An app without hooks pays nothing for them.
 */
export async function runInvocation(
  invocation: Invocation,
  app: FunctionApp,
  { signals, turns }: { readonly signals: ContextSignals; readonly turns: LoopTurns },
): Promise<Outcome> {
  try {
    // Every await costs a turn of the microtask queue, so only promises are awaited.
    const made = invocation.loaded.model().getInvocationModel(invocation);
    const model = made instanceof Promise ? await made : made;
    const given = model.getArguments();
    const { context, inputs } = given instanceof Promise ? await given : given;
    signals.addTo(context, invocation);
    if (invocation.loaded.inputNames.length > 0) guardMissingInputs(context, invocation);
    const { hooks } = app;
    if (hooks.preInvocation.length + hooks.postInvocation.length + hooks.log.length > 0) {
      return { response: await runWithHooks(invocation, app, { model, context, inputs, turns }) };
    }
    const turn = turns.next();
    if (turn) await turn;
    invocation.state = 'invocation';
    const returned = model.invokeFunction(context, inputs, invocation.loaded.callback);
    const result = returned instanceof Promise ? ((await returned) as unknown) : returned;
    invocation.state = undefined;
    const response = model.getResponse(context, result);
    return { response: response instanceof Promise ? await response : response };
  } catch (thrown) {
    invocation.state = undefined;
    return { thrown };
  }
}

interface PreparedInvocation {
  readonly model: InvocationModel;
  readonly context: unknown;
  readonly inputs: unknown[];
  readonly turns: LoopTurns;
}

async function runWithHooks(
  invocation: Invocation,
  { hooks, appHookData }: FunctionApp,
  { model, context, inputs, turns }: PreparedInvocation,
): Promise<CoreInvocationResponse> {
  const scope: HookScope = { hookData: {}, appHookData, invocationContext: context };
  invocation.hookScope = scope;
  const before = new PreInvocationContext(scope, inputs, invocation.loaded.callback);
  await inState(invocation, 'preInvocationHooks', () => runHooks(hooks.preInvocation, before));
  const after = new PostInvocationContext(scope, before.inputs);
  await inState(invocation, 'invocation', async () => {
    await turns.next();
    try {
      after.result = await model.invokeFunction(context, before.inputs, before.functionCallback);
    } catch (thrown) {
      // Hooks read null as no error, but a function that throws null has failed.
      after.error = thrown ?? toError(thrown);
    }
  });
  await inState(invocation, 'postInvocationHooks', () => runHooks(hooks.postInvocation, after));
  if (after.error !== null && after.error !== undefined) throw after.error;
  return await model.getResponse(context, after.result);
}

async function inState(
  invocation: Invocation,
  state: NonNullable<Invocation['state']>,
  work: () => Promise<void>,
): Promise<void> {
  invocation.state = state;
  try {
    await work();
  } finally {
    invocation.state = undefined;
  }
}
