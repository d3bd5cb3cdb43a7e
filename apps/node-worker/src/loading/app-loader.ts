import { SystemError } from './system-errors.js';
import { problemOf, type AppProblem } from './app-problem.js';
import type { AppSlot } from './app-slot.js';
import { defaultCapabilities } from './capabilities.js';
import { hasFunctionJson } from './entry-points.js';
import type { CoreCapabilities } from './functions-core.js';
import type { LoadScript } from './load-script.js';
import { startApp, type AppStart } from './start-app.js';

/** Events of the loader. */
export interface LoaderEvents {
  /** An app was started, with or without a problem. */
  onStarted(start: AppStart, tookMs: number, problem: AppProblem | undefined): void;
}

/**
 * Starts the app, at most once per directory, and holds the result.
 *
 * `started` is a promise, so that requests which arrive during a start wait for it.
 */
export class AppLoader {
  readonly #apps: AppSlot;
  readonly #load: LoadScript;
  readonly #events: LoaderEvents;
  #directory = '';
  #started: Promise<AppStart | undefined> = Promise.resolve(undefined);
  #problem: AppProblem | undefined;
  #capabilities: Promise<CoreCapabilities> | undefined;

  constructor(parts: { apps: AppSlot; load: LoadScript; events: LoaderEvents }) {
    this.#apps = parts.apps;
    this.#load = parts.load;
    this.#events = parts.events;
  }

  /** The directory of the app; empty for a placeholder. */
  get directory(): string {
    return this.#directory;
  }

  /** Resolves when no app is being loaded; with undefined when there is no app. */
  get started(): Promise<AppStart | undefined> {
    return this.#started;
  }

  /** The problem of the app that was started last, if it has one. */
  get problem(): AppProblem | undefined {
    return this.#problem;
  }

  /** Starts the app in `directory`, or waits for a start that began before. Throws when another app is loaded. */
  async start(directory: string): Promise<void> {
    if (directory === this.#directory) {
      await this.#started;
      return;
    }
    if (this.#directory !== '') {
      throw new SystemError(
        `This worker runs the app in ${this.#directory} and cannot change to the one in ${directory}. Use a new worker.`,
      );
    }
    await this.#begin(directory);
  }

  /** Starts the app in `directory` and drops the one that was loaded before. */
  async replace(directory: string): Promise<void> {
    if (directory === this.#directory) {
      await this.#started;
      return;
    }
    this.#apps.reset();
    this.#capabilities = undefined;
    await this.#begin(directory);
  }

  /** Returns the capabilities of the worker with this app. Asks the programming model once: its answer may open a port. */
  capabilities(): Promise<CoreCapabilities> {
    this.#capabilities ??= this.#askCapabilities();
    return this.#capabilities;
  }

  async #begin(directory: string): Promise<void> {
    this.#directory = directory;
    this.#problem = undefined;
    this.#started = this.#run(directory);
    await this.#started;
  }

  async #run(directory: string): Promise<AppStart> {
    const from = performance.now();
    const app = this.#apps.current;
    const start = await startApp(app, directory, this.#load);
    const registeredFunctions = app.registeredCount;
    this.#problem = problemOf(start, {
      registeredFunctions,
      hasFunctionJson: registeredFunctions === 0 && hasFunctionJson(directory),
    });
    this.#events.onStarted(start, performance.now() - from, this.#problem);
    return start;
  }

  async #askCapabilities(): Promise<CoreCapabilities> {
    const model = this.#apps.current.programmingModel;
    const defaults = { ...defaultCapabilities };
    return (await model?.getCapabilities?.(defaults)) ?? defaults;
  }
}
