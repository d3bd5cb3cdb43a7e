import type { AmqpError } from '../amqp/amqp-service.js';

/** What is known of an idempotent producer of one partition. */
export interface ProducerState {
  readonly id: number;
  readonly epoch: number;
  /** Sequence number of the last event stored. */
  readonly lastSequence: number;
}

export type PublishDecision =
  | { readonly kind: 'append'; readonly state: ProducerState }
  /** All events are stored already: a retry whose first answer was lost. */
  | { readonly kind: 'duplicate'; readonly state: ProducerState }
  | { readonly kind: 'refused'; readonly error: AmqpError };

const lowestSequence = -0x8000_0000;
const sequenceRange = 0x1_0000_0000;

/** Producers remembered per partition; the one that was silent longest is forgotten first. */
const maxProducers = 10_000;

/** The idempotent producers of one partition: numbers them, fences older epochs, recognises repeated batches. */
export class IdempotentProducers {
  readonly #states = new Map<number, ProducerState>();
  #nextId = 1;

  /**
   * Opens a producer's link: a new producer gets an id; a known one continues, unless a newer epoch has fenced it.
   * Returns the state for the attach reply. It repeats the sequence number the client gave: a client that missed the answer to
   * its last batch numbers the retry from there, and only then is the repetition recognised.
   */
  open(
    id: number | undefined,
    epoch: number | undefined,
    startSequence: number | undefined,
  ): ProducerState | AmqpError {
    const known = id === undefined ? undefined : this.#states.get(id);
    if (known && epoch !== undefined && epoch < known.epoch) return fenced(known, epoch);
    const isNewEpoch = !known || (epoch !== undefined && epoch > known.epoch);
    const state: ProducerState = {
      id: id ?? this.#nextId,
      epoch: epoch ?? known?.epoch ?? 0,
      lastSequence: isNewEpoch ? (startSequence ?? 0) : known.lastSequence,
    };
    this.restore(state);
    return { ...state, lastSequence: startSequence ?? state.lastSequence };
  }

  /** Decides about a batch of `count` events whose first has the sequence number `first`. */
  decide(id: number, epoch: number, first: number | undefined, count: number): PublishDecision {
    const known = this.#states.get(id);
    if (known && epoch < known.epoch) return { kind: 'refused', error: fenced(known, epoch) };
    if (first === undefined) return { kind: 'refused', error: outOfOrder(id, 'none', known?.lastSequence ?? 0) };
    const last = wrap(first + count - 1);
    const state: ProducerState = { id, epoch, lastSequence: last };
    if (!known) return { kind: 'append', state };
    const distance = wrap(first - known.lastSequence);
    if (distance === 1) return { kind: 'append', state };
    if (distance <= 0 && wrap(last - known.lastSequence) <= 0) return { kind: 'duplicate', state: known };
    return { kind: 'refused', error: outOfOrder(id, String(first), known.lastSequence) };
  }

  /** Remembers the state of a producer after its events are stored, or as a journal replays it. */
  restore(state: ProducerState): void {
    this.#states.delete(state.id); // to the end: the order is that of the last use
    this.#states.set(state.id, state);
    this.#nextId = Math.max(this.#nextId, state.id + 1);
    if (this.#states.size <= maxProducers) return;
    for (const oldest of this.#states.keys()) {
      this.#states.delete(oldest);
      return;
    }
  }

  get all(): Iterable<ProducerState> {
    return this.#states.values();
  }
}

/** Sequence numbers are signed 32-bit and wrap. */
function wrap(value: number): number {
  return ((((value - lowestSequence) % sequenceRange) + sequenceRange) % sequenceRange) + lowestSequence;
}

function fenced(known: ProducerState, epoch: number): AmqpError {
  return {
    condition: 'com.microsoft:producer-epoch-stolen',
    description: `Producer ${known.id} has epoch ${epoch}, but a newer one has epoch ${known.epoch}.`,
  };
}

function outOfOrder(id: number, first: string, last: number): AmqpError {
  return {
    condition: 'com.microsoft:out-of-order-sequence',
    description: `The batch of producer ${id} begins with sequence number ${first}; expected ${wrap(last + 1)}.`,
  };
}
