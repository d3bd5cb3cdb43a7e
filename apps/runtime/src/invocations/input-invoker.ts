import { isCodedError, type CodedError } from '@drover/contracts';
import type { Clock, Randomness } from '@drover/service-kit';
import type { InputValue } from '@drover/trigger-sources';
import { functionInputFailed } from '../bindings/errors.js';
import type { InputPlan, InputPlanner } from '../bindings/inputs.js';
import type { InvocationCall, InvocationOutcome, Invoker } from './invocation-call.js';

interface InputInvokerOptions {
  readonly inner: Invoker;
  /** By function name. */
  readonly planners: ReadonlyMap<string, InputPlanner>;
  readonly read: (functionName: string, plan: InputPlan, signal: AbortSignal) => Promise<InputValue>;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** Reads the input bindings of a function before it runs. If one cannot be read, the invocation fails without a run. */
export class InputInvoker implements Invoker {
  readonly #options: InputInvokerOptions;

  constructor(options: InputInvokerOptions) {
    this.#options = options;
  }

  /** Passes calls of functions without inputs on as they are: most requests have none. */
  invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const { inner, planners } = this.#options;
    const planner = planners.get(call.definition.name);
    return !planner || planner.isEmpty ? inner.invoke(call) : this.#invokeWith(call, planner);
  }

  async #invokeWith(call: InvocationCall, planner: InputPlanner): Promise<InvocationOutcome> {
    const { inner, randomness } = this.#options;
    let values: readonly (readonly [string, InputValue])[];
    try {
      values = await this.#readAll(call, planner);
    } catch (error) {
      return { kind: 'failed', invocationId: randomness.uuid(), error: error as CodedError }; // every error of a read is coded
    }
    return await inner.invoke({
      ...call,
      inputs: (capabilities) => {
        const { inputData, triggerMetadata } = call.inputs(capabilities);
        return { inputData: [...inputData, ...values.map(([name, data = {}]) => ({ name, data }))], triggerMetadata };
      },
    });
  }

  async #readAll(call: InvocationCall, planner: InputPlanner): Promise<readonly (readonly [string, InputValue])[]> {
    const { clock, randomness, read } = this.#options;
    const functionName = call.definition.name;
    const context = { now: () => clock.now(), uuid: () => randomness.uuid() };
    const signal = call.signal ?? new AbortController().signal;
    const plans = planner.plan(call.bindingData ?? (() => ({})), context);
    return await Promise.all(
      plans.map(async (plan) => {
        const { name } = plan.binding;
        try {
          return [name, await read(functionName, plan, signal)] as const;
        } catch (error) {
          if (isCodedError(error)) throw error;
          const reason = error instanceof Error ? error.message : String(error);
          throw functionInputFailed({ functionName, binding: name, reason }, error);
        }
      }),
    );
  }
}
