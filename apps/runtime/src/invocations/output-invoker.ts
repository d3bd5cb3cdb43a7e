import { isCodedError } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { OutputTarget } from '@drover/trigger-sources';
import type { OutputPlan, OutputPlanner } from '../bindings/outputs.js';
import { outputFailed } from '../errors.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import type { InvocationCall, InvocationOutcome, Invoker } from './invocation-call.js';
import type { PendingOutputs } from './pending-outputs.js';

interface OutputInvokerOptions {
  readonly inner: Invoker;
  /** By function name. */
  readonly planners: ReadonlyMap<string, OutputPlanner>;
  /** Resolves the target of a plan. */
  readonly target: (functionName: string, plan: OutputPlan) => OutputTarget;
  readonly pending: PendingOutputs;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<FunctionInvocationObservation>;
}

/**
 * Writes the outputs of a function after it ran, whether its caller still waits or not. The invocation succeeds only when all
 * outputs are written.
 */
export class OutputInvoker implements Invoker {
  readonly #options: OutputInvokerOptions;

  constructor(options: OutputInvokerOptions) {
    this.#options = options;
  }

  async invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const { inner, planners, pending } = this.#options;
    const planner = planners.get(call.definition.name);
    if (!planner || planner.isEmpty) return await inner.invoke(call);
    pending.begin();
    try {
      const outcome = await inner.invoke(call);
      return outcome.kind === 'succeeded' ? await this.#write(call, outcome, planner) : outcome;
    } finally {
      pending.end();
    }
  }

  async #write(call: InvocationCall, outcome: Succeeded, planner: OutputPlanner): Promise<InvocationOutcome> {
    const { clock, randomness, target, pending } = this.#options;
    const functionName = call.definition.name;
    let binding = 'outputs';
    try {
      const context = { now: () => clock.now(), uuid: () => randomness.uuid() };
      for (const plan of planner.plan(outcome.response, call.bindingData ?? (() => ({})), context)) {
        binding = plan.binding.name;
        // Not the signal of the call: outputs are written although the caller has left.
        await target(functionName, plan).send(plan.messages, pending.signal);
      }
      return outcome;
    } catch (error) {
      this.#options.observe({ kind: 'output.failed', function: functionName, binding, error });
      const text = error instanceof Error ? error.message : String(error);
      const coded =
        isCodedError(error) && error.fault === 'customer'
          ? error
          : outputFailed({ functionName, binding, text }, error);
      return { kind: 'failed', invocationId: outcome.invocationId, error: coded };
    }
  }
}

type Succeeded = Extract<InvocationOutcome, { readonly kind: 'succeeded' }>;
