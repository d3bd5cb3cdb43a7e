import type { StreamingMessage } from '@drover/function-rpc';
import type { Observe } from '@drover/service-kit';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import type { MessageTarget } from '../workers/message-target.js';
import type { InvocationTracker } from './invocation-tracker.js';
import { toLogLine } from './worker-log.js';

/** Handles log lines and invocation responses of workers. The logs inside a response come before its outcome. */
export class WorkerMessages implements MessageTarget {
  readonly #tracker: InvocationTracker;
  readonly #observe: Observe<FunctionInvocationObservation>;

  constructor(tracker: InvocationTracker, observe: Observe<FunctionInvocationObservation>) {
    this.#tracker = tracker;
    this.#observe = observe;
  }

  receive(workerId: string, message: StreamingMessage): void {
    if (message.kind === 'invocationResponse') {
      for (const log of message.value.result?.logs ?? []) this.#log(workerId, log);
      if (!this.#tracker.respond(workerId, message.value))
        this.#observe({ kind: 'invocation.stray', workerId, invocationId: message.value.invocationId });
    } else if (message.kind === 'rpcLog') this.#log(workerId, message.value);
  }

  #log(workerId: string, log: Parameters<typeof toLogLine>[0]): void {
    const name = this.#tracker.functionOf(log.invocationId);
    const line = toLogLine(log, name);
    if (line) this.#observe({ kind: 'worker.log', workerId, function: name, invocationId: line.invocationId, line });
  }
}
