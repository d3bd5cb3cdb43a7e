import { SystemError } from './system-errors.js';
import { problemOf, type AppProblem } from './app-problem.js';
import type { AppSlot } from './app-slot.js';
import { defaultCapabilities } from './capabilities.js';
import { hasFunctionJson } from './entry-points.js';
import type { Capabilities } from './functions-core.js';
import type { LoadScript } from './load-script.js';
import { startApp, type AppStart } from './start-app.js';

/** What the loader says while it works. */
export interface LoaderEvents {
  /** An app was loaded, well or not. */
  onStarted(start: AppStart, tookMs: number, problem: AppProblem | undefined): void;
}

/**
 * Starts the app, at most one of a directory, and knows how that went.
 *
 * Whoever asks before the start is over waits for it: `started` is the promise, not the result.
 */
export class AppLoader {
  readonly #apps: AppSlot;
  readonly #load: LoadScript;
  readonly #events: LoaderEvents;
  #directory = '';
  #started: Promise<AppStart | undefined> = Promise.resolve(undefined);
  #problem: AppProblem | undefined;
  #capabilities: Promise<Capabilities> | undefined;

  constructor(parts: { apps: AppSlot; load: LoadScript; events: LoaderEvents }) {
    this.#apps = parts.apps;
    this.#load = parts.load;
    this.#events = parts.events;
  }

  /** The app's directory; empty for a placeholder. */
  get directory(): string {
    return this.#directory;
  }

  /** Resolves when nothing is being loaded; undefined without an app. */
  get started(): Promise<AppStart | undefined> {
    return this.#started;
  }

  /** What is wrong with the app that was started last. */
  get problem(): AppProblem | undefined {
    return this.#problem;
  }

  /** Starts the app in `directory`, or waits for it where it has been started before. */
  async start(directory: string): Promise<void> {
    if (directory === this.#directory) {
      await this.#started;
      return;
    }
    if (this.#directory !== '') {
      throw new SystemError(
        `This worker runs the app in ${this.#directory} and cannot change to the one in ${directory}.`,
      );
    }
    await this.#begin(directory);
  }

  /** Starts the app in `directory` in place of what was loaded before. */
  async replace(directory: string): Promise<void> {
    if (directory === this.#directory) {
      await this.#started;
      return;
    }
    this.#apps.reset();
    this.#capabilities = undefined;
    await this.#begin(directory);
  }

  /** What the worker can do with this app. Asked of the programming model once: its answer may open a port. */
  capabilities(): Promise<Capabilities> {
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

  async #askCapabilities(): Promise<Capabilities> {
    const model = this.#apps.current.programmingModel;
    const defaults = { ...defaultCapabilities };
    return (await model?.getCapabilities?.(defaults)) ?? defaults;
  }
}
