interface DisposableLike {
  dispose?: unknown;
}

/** Returned by registrations: `dispose` undoes the registration, once. */
export class Disposable {
  #action: (() => unknown) | undefined;

  constructor(action: () => unknown) {
    this.#action = action;
  }

  /** Returns a Disposable that disposes all of them. */
  static from(...all: (DisposableLike | null | undefined)[]): Disposable {
    return new Disposable(() => {
      for (const one of all) if (typeof one?.dispose === 'function') one.dispose();
    });
  }

  dispose(): unknown {
    const action = this.#action;
    this.#action = undefined;
    return action?.();
  }
}
