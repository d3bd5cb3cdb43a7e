import type { HostStream } from '../stream/host-connection.js';
import type { Invocation } from './invocation.js';

/**
 * The running invocations. The host bounds their number.
 *
 * Stored in an object, not in a Map: a Map that is filled and emptied all the time leaves a chain of old tables behind. Once
 * one of them is promoted to the old generation, V8 keeps them all and their invocations alive, which cost a fifth of the
 * time of HTTP calls.
 */
export class InFlight {
  readonly #invocations = Object.create(null) as Record<string, Invocation>;
  #size = 0;
  /** Still running, but their stream is lost: they may still read their signal. */
  readonly #abandoned = new Map<string, Invocation>();
  readonly #waiting = new Set<() => void>();

  get size(): number {
    return this.#size;
  }

  /** The number of running invocations by function, for messages. */
  get byFunction(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { loaded } of Object.values(this.#invocations)) counts[loaded.name] = (counts[loaded.name] ?? 0) + 1;
    return counts;
  }

  find(invocationId: string): Invocation | undefined {
    return this.#invocations[invocationId];
  }

  /** Finds an invocation, including one whose stream is lost. */
  findRunning(invocationId: string): Invocation | undefined {
    return this.#invocations[invocationId] ?? this.#abandoned.get(invocationId);
  }

  add(invocation: Invocation): void {
    if (!this.#invocations[invocation.invocationId]) this.#size++;
    this.#invocations[invocation.invocationId] = invocation;
  }

  /** Removes an invocation. Another one with the same id, from another stream, stays. */
  remove(invocation: Invocation): void {
    const { invocationId } = invocation;
    if (this.#abandoned.size > 0 && this.#abandoned.get(invocationId) === invocation)
      this.#abandoned.delete(invocationId);
    if (this.#invocations[invocationId] !== invocation) return;
    delete this.#invocations[invocationId];
    this.#size--;
    if (this.#size > 0 || this.#waiting.size === 0) return;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Cancels all invocations. */
  cancelAll(reason: string): void {
    for (const invocation of Object.values(this.#invocations)) invocation.cancel(reason);
  }

  /** Cancels the invocations of a lost stream and no longer counts them. Returns their number. */
  abandon(stream: HostStream, reason: string): number {
    const lost = Object.values(this.#invocations).filter((invocation) => invocation.stream === stream);
    for (const invocation of lost) {
      invocation.cancel(reason);
      this.remove(invocation);
      this.#abandoned.set(invocation.invocationId, invocation);
    }
    return lost.length;
  }

  /** Resolves when no invocation runs. */
  idle(): Promise<void> {
    if (this.#size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }
}
