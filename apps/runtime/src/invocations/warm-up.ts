import { sleep, toTraceparent, continueTrace, type Clock, type Randomness } from '@drover/service-kit';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { deliveryInputs } from '../bindings/delivery-inputs.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { Invoker } from './invocation-call.js';

interface WarmUpOptions {
  /** The function with the warmup trigger. */
  readonly definition: FunctionDefinition;
  /** Returns an invoker whose invocations run on this worker. */
  readonly invokerOn: (worker: FunctionWorker) => Invoker;
  /** The worker takes other work after this time, whether the function has ended or not. */
  readonly withinMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly warn: (problem: string) => void;
}

/** After so many workers in a row that ended while they warmed up, workers start without it: the application must run. */
const mostLosses = 2;

/** Runs the warmup function of an application on each new worker, before the worker takes other work. Its failure changes nothing. */
export class WarmUp {
  readonly #options: WarmUpOptions;
  #losses = 0;

  constructor(options: WarmUpOptions) {
    this.#options = options;
  }

  /** Resolves when the worker can take work; never rejects. */
  async run(worker: FunctionWorker): Promise<void> {
    const { definition, invokerOn, withinMs, clock, randomness, warn } = this.#options;
    if (this.#losses >= mostLosses || worker.refusalOf(definition.id) !== undefined) return;
    const delivery = { data: '{}', metadata: {}, deliveryCount: 1, traceparent: undefined };
    const { inputs, bindingData } = deliveryInputs(definition.trigger, delivery);
    const trace = { traceParent: toTraceparent(continueTrace(undefined, randomness)) };
    const ended = new AbortController();
    const running = invokerOn(worker)
      .invoke({ definition, inputs, bindingData, trace })
      .finally(() => ended.abort());
    const isLate = await sleep(clock, withinMs, ended.signal).then(
      () => true,
      () => false,
    );
    if (isLate)
      return warn(`its warmup takes longer than ${withinMs} ms; the function worker takes other work meanwhile`);
    await running;
    if (!worker.is('disconnected', 'abandoned')) {
      this.#losses = 0;
      return;
    }
    this.#losses += 1;
    if (this.#losses === mostLosses)
      warn(`its warmup ended ${mostLosses} function workers in a row; further ones start without it`);
  }
}
