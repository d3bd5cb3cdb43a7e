import { isCodedError, type CodedError } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { OutputTarget } from '@drover/trigger-sources';
import type { OutputPlan, OutputPlanner } from '../bindings/outputs.js';
import { outputFailed, outputRefused } from '../errors.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import type { InvocationCall, InvocationOutcome, Invoker, SucceededInvocation } from './invocation-call.js';
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
 * outputs are written, so they are written before its end is logged and measured.
 */
export class OutputInvoker implements Invoker {
  readonly #options: OutputInvokerOptions;

  constructor(options: OutputInvokerOptions) {
    this.#options = options;
  }

  /** Passes calls of functions without outputs on as they are: most requests have none. */
  invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const { inner, planners } = this.#options;
    const planner = planners.get(call.definition.name);
    return !planner || planner.isEmpty ? inner.invoke(call) : this.#invokeWith(call, planner);
  }

  async #invokeWith(call: InvocationCall, planner: OutputPlanner): Promise<InvocationOutcome> {
    const { inner, pending } = this.#options;
    pending.begin();
    try {
      return await inner.invoke({ ...call, finish: (returned) => this.#write(call, returned, planner) });
    } finally {
      pending.end();
    }
  }

  async #write(
    call: InvocationCall,
    returned: SucceededInvocation,
    planner: OutputPlanner,
  ): Promise<InvocationOutcome> {
    const { clock, randomness, target, pending } = this.#options;
    const functionName = call.definition.name;
    const { invocationId } = returned;
    const written: string[] = [];
    let failing: OutputPlan | undefined;
    try {
      const context = { now: () => clock.now(), uuid: () => randomness.uuid() };
      // All outputs are planned before the first is written, so that an invalid one leaves nothing behind.
      for (const plan of planner.plan(returned.response, call.bindingData ?? (() => ({})), context)) {
        failing = plan;
        // Not the signal of the call: outputs are written although the caller has left.
        await target(functionName, plan).send(plan.messages, pending.signal);
        written.push(plan.binding.name);
      }
      return returned;
    } catch (error) {
      const binding = failing?.binding.name ?? 'outputs';
      this.#options.observe({ kind: 'output.failed', function: functionName, invocationId, binding, written, error });
      return { kind: 'failed', invocationId, error: toFailure(error, functionName, failing, written) };
    }
  }
}

/** The error of an output that was planned says which outputs are written: a repeated call writes those twice. */
function toFailure(
  error: unknown,
  functionName: string,
  failing: OutputPlan | undefined,
  written: readonly string[],
): CodedError {
  const text = error instanceof Error ? error.message : String(error);
  const isRefused = isCodedError(error) && error.fault === 'customer';
  if (!failing) return isRefused ? error : outputFailed({ functionName, binding: 'outputs', text, written }, error);
  const { binding, messages } = failing;
  const details = { functionName, binding: binding.name, text, written, messages: messages.length };
  return (isRefused ? outputRefused : outputFailed)(details, error);
}
