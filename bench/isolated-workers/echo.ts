/** One worker that gives back what it gets, behind whatever library. */
export interface Echo {
  readonly name: string;
  readonly kind: EchoKind;
  readonly echo: (value: unknown) => Promise<unknown>;
  /** Makes the worker end while it has a call, and rejects that call; of a bare transport, resolves with the exit event. */
  readonly exit: () => Promise<unknown>;
  /** Makes the worker end at the first call with this file, and gives the answer of the next worker. */
  readonly exitOnce: (file: string) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** Ours, the floor under it, and the others: in threads or in processes. */
export type EchoKind = `${'our' | 'raw' | 'peer'} ${'thread' | 'process'}`;

/** Matches answers to questions by number: as little as one can do to have several in flight. */
export class Answers {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #next = 1;

  ask(value: unknown, send: (message: RawMessage) => void): Promise<unknown> {
    return new Promise((resolve) => {
      const id = this.#next++;
      this.#waiting.set(id, resolve);
      send({ id, value });
    });
  }

  settle({ id, value }: RawMessage): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(value);
  }
}

/** What raw transports carry. */
export interface RawMessage {
  readonly id: number;
  readonly value: unknown;
}
