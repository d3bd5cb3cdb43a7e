import { NotificationEndpoint, type NotificationEndpointIo, type NotificationTarget } from './notification-endpoint.js';
import type { WorkInterest } from '../parked-trigger.js';

/** The streaming connections to emulators, one for each: parked triggers and listeners of the process share them. */
export class NotificationEndpoints {
  readonly #io: NotificationEndpointIo;
  readonly #endpoints = new Map<string, NotificationEndpoint>();

  constructor(io: NotificationEndpointIo) {
    this.#io = io;
  }

  of(origin: string): NotificationEndpoint {
    const known = this.#endpoints.get(origin);
    if (known) return known;
    const endpoint = new NotificationEndpoint({ ...this.#io, origin });
    this.#endpoints.set(origin, endpoint);
    return endpoint;
  }

  /** Must be called after the removal of a target. */
  release(origin: string): void {
    if (this.#endpoints.get(origin)?.isUnused) this.#endpoints.delete(origin);
  }
}

/** An entity of an emulator that a listener polls. */
export interface WatchedEntity {
  /** Of the emulator, without a path. */
  readonly origin: string;
  readonly interest: WorkInterest;
}

/**
 * Lets a listener that polls wait for work: an emulator of ours tells at once. Without an answer, because the service is another
 * one or does not answer, the listener polls as it does everywhere else.
 */
export class WorkSubscription implements NotificationTarget {
  readonly #endpoints: NotificationEndpoints;
  readonly #entity: WatchedEntity;
  readonly #onWork: () => void;
  #question: number | undefined;
  #isWanted = false;

  constructor(endpoints: NotificationEndpoints, entity: WatchedEntity, onWork: () => void) {
    this.#endpoints = endpoints;
    this.#entity = entity;
    this.#onWork = onWork;
    endpoints.of(entity.origin).add(this);
  }

  /** Calls `onWork` once, as soon as there is work, or at once if there is some already. */
  ask(): void {
    this.#isWanted = true;
    const endpoint = this.#endpoints.of(this.#entity.origin);
    if (this.#question === undefined && endpoint.isConnected)
      this.#question = endpoint.watch(this, this.#entity.interest);
  }

  end(): void {
    const { origin } = this.#entity;
    this.#endpoints.of(origin).remove(this, this.#question);
    this.#endpoints.release(origin);
  }

  onConnected(): void {
    this.#question = undefined;
    if (this.#isWanted) this.ask();
  }

  onLost(): void {
    this.#question = undefined;
  }

  onWork(): void {
    this.onRefused();
    this.#onWork();
  }

  onRefused(): void {
    this.#question = undefined;
    this.#isWanted = false;
  }
}
