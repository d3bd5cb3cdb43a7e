import { isCodedError } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { OutputTarget } from '@drover/trigger-sources';
import type { OutputPlan, OutputPlanner } from '../bindings/outputs.js';
import { outputFailed } from '../errors.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import type { InvocationCall, InvocationOutcome, Invoker } from './invocation-call.js';

interface OutputInvokerOptions {
  readonly inner: Invoker;
  /** By function name. */
  readonly planners: ReadonlyMap<string, OutputPlanner>;
  /** Resolves the target of a plan. */
  readonly target: (functionName: string, plan: OutputPlan) => OutputTarget;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<FunctionInvocationObservation>;
}

/** Writes the outputs of a function after it ran. The invocation succeeds only when all outputs are written. */
export class OutputInvoker implements Invoker {
  readonly #options: OutputInvokerOptions;

  constructor(options: OutputInvokerOptions) {
    this.#options = options;
  }

  async invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const outcome = await this.#options.inner.invoke(call);
    const planner = this.#options.planners.get(call.definition.name);
    if (outcome.kind !== 'succeeded' || !planner || planner.isEmpty) return outcome;
    const functionName = call.definition.name;
    let binding = 'outputs';
    try {
      const { clock, randomness, target } = this.#options;
      const context = { now: () => clock.now(), uuid: () => randomness.uuid() };
      for (const plan of planner.plan(outcome.response, call.bindingData ?? (() => ({})), context)) {
        binding = plan.binding.name;
        await target(functionName, plan).send(plan.messages, call.signal ?? never);
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

const never = new AbortController().signal;
