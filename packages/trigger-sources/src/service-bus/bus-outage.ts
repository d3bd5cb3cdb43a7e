import type { Clock, Observe } from '@drover/service-kit';
import { failureOfBus, type BusFailure } from './failures.js';
import type { ServiceBusObservation } from './observations.js';
import { withoutSecretsOf, type ServiceBusConnection } from './service-bus-connection.js';

interface BusOutageOptions {
  readonly functionName: string;
  readonly entity: string;
  readonly connection: ServiceBusConnection;
  readonly clock: Clock;
  readonly observe: Observe<ServiceBusObservation>;
}

/** Observes an outage of an entity once, again when its cause changes, and once when it is over. */
export class BusOutage {
  readonly #options: BusOutageOptions;
  #current: { readonly failure: BusFailure; readonly sinceMs: number } | undefined;

  constructor(options: BusOutageOptions) {
    this.#options = options;
  }

  failed(error: unknown): void {
    const failure = failureOfBus(error);
    if (this.#current?.failure === failure) return;
    const { functionName, entity, connection, clock, observe } = this.#options;
    this.#current = { failure, sinceMs: this.#current?.sinceMs ?? clock.monotonicMs() };
    const reason = withoutSecretsOf(connection, error);
    observe({ kind: 'service-bus.unavailable', functionName, entity, failure, setting: connection.setting, reason });
  }

  succeeded(): void {
    if (!this.#current) return;
    const { functionName, entity, clock, observe } = this.#options;
    const afterMs = clock.monotonicMs() - this.#current.sinceMs;
    this.#current = undefined;
    observe({ kind: 'service-bus.available', functionName, entity, afterMs });
  }
}
