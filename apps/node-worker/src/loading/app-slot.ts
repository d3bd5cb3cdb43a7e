import { FunctionApp } from './function-app.js';
import type { ProgrammingModel } from './functions-core.js';

/**
 * Holds the app of the worker. A placeholder has an empty app; specialization replaces it.
 *
 * A library sets its programming model once per process. The last one is remembered, so that a second app which shares the
 * library with the first has a model too.
 */
export class AppSlot {
  readonly #prepare: (model: ProgrammingModel) => ProgrammingModel;
  #given: ProgrammingModel | undefined;
  #lastModel: ProgrammingModel | undefined;
  #current = this.#empty();

  /** `prepare` may wrap each model that is set. */
  constructor(prepare: (model: ProgrammingModel) => ProgrammingModel = (model) => model) {
    this.#prepare = prepare;
  }

  get current(): FunctionApp {
    return this.#current;
  }

  setModel(model: ProgrammingModel): void {
    this.#given = model;
    this.#lastModel = this.#prepare(model);
    this.#current.programmingModel = this.#lastModel;
  }

  /** The model without the wrapper of `prepare`, if the app has one. */
  get givenModel(): ProgrammingModel | undefined {
    return this.#current.programmingModel && this.#given;
  }

  /** Collects what `register` registers in an app of its own, beside the current one. */
  collect(register: () => void): FunctionApp {
    const current = this.#current;
    this.#current = this.#empty();
    try {
      register();
      return this.#current;
    } finally {
      this.#current = current;
    }
  }

  reset(): void {
    this.#current = this.#empty();
  }

  #empty(): FunctionApp {
    return new FunctionApp(() => this.#lastModel);
  }
}
