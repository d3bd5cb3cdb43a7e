import type { Clock } from '@drover/service-kit';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { InvocationRouter } from './invocation-router.js';

/** A worker that does not answer a probe computes, or is found by its heartbeats: this only bounds what is remembered. */
const probeTimeoutMs = 600_000;

interface PacedCallsOptions {
  readonly router: Pick<InvocationRouter<FunctionWorker>, 'refresh'>;
  readonly clock: Clock;
}

/** Tells the pace of workers which calls they were sent and answered, and probes them. */
export class PacedCalls {
  readonly #options: PacedCallsOptions;

  constructor(options: PacedCallsOptions) {
    this.#options = options;
  }

  /** Records a call that was sent. Returns its number for `ended`; undefined for a worker without a pace. */
  sent(worker: FunctionWorker, nowMs: number): number | undefined {
    if (!worker.isPaced) return undefined;
    const call = worker.pace.sent();
    if (worker.pace.startProbe(nowMs)) this.#probe(worker);
    return call;
  }

  /** Call it before the slot is released. `serviceMs` is undefined for a call that got no answer. */
  ended(worker: FunctionWorker, call: number | undefined, serviceMs: number | undefined): void {
    if (call === undefined) return;
    if (serviceMs === undefined) worker.pace.gaveUp(call);
    else worker.pace.answered(call, serviceMs);
  }

  #probe(worker: FunctionWorker): void {
    const { clock, router } = this.#options;
    worker.request({ kind: 'workerStatusRequest', value: {} }, 'workerStatusResponse', probeTimeoutMs).then(
      () => {
        const nowMs = clock.monotonicMs();
        worker.pace.probed(nowMs);
        // Calls that were sent meanwhile may keep it closed, and no other call would follow to probe it.
        if (worker.pace.startProbe(nowMs)) this.#probe(worker);
        router.refresh(worker);
      },
      () => worker.pace.probeFailed(),
    );
  }
}
