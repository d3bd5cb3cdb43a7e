import { fromHandlerValue, type ParameterBindingInit, type TypedDataInit } from '@drover/function-rpc';
import type {
  CoreInvocationResponse,
  FunctionCallback,
  InvocationArguments,
  InvocationModel,
} from '../../loading/functions-core.js';
import type { Invocation } from '../invocation.js';
import { toV4Value } from '../plain-text.js';
import { camelCaseValue, type FastContextClass, type FastState } from './fast-context.js';
import type { FunctionPlan } from './function-plan.js';
import type { FastRequestClass } from './fast-request.js';
import { fastHttpResponse } from './fast-response.js';

export interface FastClasses {
  readonly context: FastContextClass;
  /** Set once the library has created a request, which it does only for HTTP triggers. */
  readonly request: FastRequestClass | undefined;
}

/** Runs one invocation as the library does, without its setup cost per invocation. */
export class FastInvocationModel implements InvocationModel {
  readonly #state: FastState;
  readonly #classes: FastClasses;
  readonly #library: () => InvocationModel | Promise<InvocationModel>;

  constructor(
    invocation: Invocation,
    plan: FunctionPlan,
    parts: { classes: FastClasses; library: () => InvocationModel | Promise<InvocationModel> },
  ) {
    this.#state = { invocation, plan, isDone: false, extraOutputs: undefined };
    this.#classes = parts.classes;
    this.#library = parts.library;
  }

  getArguments(): InvocationArguments {
    const { invocation, plan } = this.#state;
    const context = new this.#classes.context(this.#state);
    const inputs: unknown[] = [];
    for (const { name, data } of invocation.request.inputData) {
      if (name !== plan.triggerName) context.extraInputs.set(name, toV4Value(data));
      else if (data?.http && this.#classes.request) inputs.push(new this.#classes.request(data.http));
      else inputs.push(plan.trigger === 'timer' ? camelCaseValue(toV4Value(data)) : toV4Value(data));
    }
    return { context, inputs };
  }

  invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): unknown {
    let returned: unknown;
    try {
      returned = inputs.length === 1 ? callback(inputs[0], context) : callback(...inputs, context);
    } catch (error) {
      this.#state.isDone = true;
      throw error;
    }
    if (isThenable(returned)) return this.#finish(returned);
    this.#state.isDone = true;
    return returned;
  }

  getResponse(context: unknown, result: unknown): CoreInvocationResponse | Promise<CoreInvocationResponse> {
    const { invocation, plan } = this.#state;
    const { invocationId } = invocation;
    if (plan.returns !== 'http') {
      const returnValue = plan.returns === 'value' ? fromHandlerValue(result) : undefined;
      return { invocationId, outputData: this.#outputs(), returnValue };
    }
    if (result === undefined || result === null) return { invocationId, outputData: this.#outputs() };
    const returnValue: TypedDataInit | undefined = typeof result === 'object' ? fastHttpResponse(result) : undefined;
    if (!returnValue) return this.#responseOfLibrary(context, result);
    return { invocationId, outputData: this.#outputs(), returnValue };
  }

  async #finish(returned: PromiseLike<unknown>): Promise<unknown> {
    try {
      return await returned;
    } finally {
      this.#state.isDone = true;
    }
  }

  #outputs(): ParameterBindingInit[] {
    const { extraOutputs, plan } = this.#state;
    if (!extraOutputs) return [];
    const outputs: ParameterBindingInit[] = [];
    for (const name of plan.outputNames) {
      const data = fromHandlerValue(extraOutputs.get(name));
      if (data) outputs.push({ name, data });
    }
    return outputs;
  }

  async #responseOfLibrary(context: unknown, result: unknown): Promise<CoreInvocationResponse> {
    const model = await this.#library();
    return await model.getResponse(context, result);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
