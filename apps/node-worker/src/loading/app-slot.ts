import { FunctionApp } from './function-app.js';
import type { ProgrammingModel } from './functions-core.js';

/**
 * The one place where the worker keeps its app. A placeholder has an empty one; specialization replaces it.
 *
 * A library sets its model once per process, however many apps use it. So the model that was set last stays known here:
 * a second app that shares the library with a first one would otherwise be without.
 */
export class AppSlot {
  readonly #prepare: (model: ProgrammingModel) => ProgrammingModel;
  #given: ProgrammingModel | undefined;
  #lastModel: ProgrammingModel | undefined;
  #current = this.#empty();

  /** `prepare` makes of a model that was set the one that is used. */
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

  /** The model as it was set, if the app has one. */
  get givenModel(): ProgrammingModel | undefined {
    return this.#current.programmingModel && this.#given;
  }

  reset(): void {
    this.#current = this.#empty();
  }

  #empty(): FunctionApp {
    return new FunctionApp(() => this.#lastModel);
  }
}
