import net from 'node:net';
import { sleep, type Clock, type Lifecycle } from '@drover/service-kit';
import { mergeDemands, type DemandedEndpoint } from './emulator-demand.js';
import type { DevelopmentEndpoint } from './development-endpoints.js';

/** The process that has emulators started: the parent of this one, or one of its own. */
export interface EmulatorStarter extends Lifecycle {
  demand(endpoints: readonly DemandedEndpoint[]): void;
}

interface EmulatorSupplyOptions {
  /** Called with the first demand. */
  readonly starter: () => Promise<EmulatorStarter>;
  readonly clock: Clock;
}

const probeEveryMs = 25;
/** A listener starts after this time in any case, and reports by itself that its source does not answer. */
const readyWithinMs = 15_000;

/** The emulators that the applications of this runtime need. Nothing is loaded or started before the first demand. */
export class EmulatorSupply implements Lifecycle {
  readonly name = 'emulators';
  readonly #options: EmulatorSupplyOptions;
  #starter: Promise<EmulatorStarter> | undefined;
  /** Demands that wait until the applications are served; undefined from then on. */
  #later: DemandedEndpoint[] | undefined = [];

  constructor(options: EmulatorSupplyOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    await (await this.#starter)?.drain(deadline);
  }

  async stop(): Promise<void> {
    await (await this.#starter)?.stop();
  }

  demand(endpoints: readonly DemandedEndpoint[]): void {
    if (endpoints.length === 0) return;
    this.#starter ??= this.#options.starter();
    // A starter that cannot be loaded is a defect of the installation; its absence shows as a source that does not answer.
    this.#starter.then((starter) => starter.demand(endpoints)).catch(() => undefined);
  }

  /** Demands emulators that no binding waits for, once the applications are served: they must not slow their start. */
  demandLater(endpoints: readonly DemandedEndpoint[]): void {
    if (this.#later) this.#later.push(...endpoints);
    else this.demand(endpoints);
  }

  /** The applications are served. */
  flush(): void {
    const waiting = this.#later ?? [];
    this.#later = undefined;
    this.demand(mergeDemands(waiting));
  }

  /** Resolves when all endpoints accept connections, at the latest after a time limit. Rejects with the reason of the signal. */
  async untilReady(endpoints: readonly DevelopmentEndpoint[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + readyWithinMs;
    for (const { port } of endpoints)
      while (clock.monotonicMs() < deadlineMs && !(await accepts(port))) await sleep(clock, probeEveryMs, signal);
    signal.throwIfAborted();
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
