interface DisposableLike {
  dispose?: unknown;
}

/** What a registration returns: `dispose` takes it back, once. */
export class Disposable {
  #action: (() => unknown) | undefined;

  constructor(action: () => unknown) {
    this.#action = action;
  }

  /** One that disposes of all of them. */
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
