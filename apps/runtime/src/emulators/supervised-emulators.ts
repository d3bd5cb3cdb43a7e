import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  sleep,
  SupervisedProcess,
  type Clock,
  type Environment,
  type Leash,
  type Lifecycle,
  type Observe,
  type Randomness,
  type SupervisedProcessObservation,
} from '@drover/service-kit';
import { emulatorsFailed } from '../errors.js';
import { mergeDemands, type DemandedEndpoint } from './emulator-demand.js';
import { isEmulatorsPage, type EmulatorsDemandMessage } from './emulators-demand-message.js';

const emulatorsModule = fileURLToPath(new URL('emulators-main.js', import.meta.url));

interface SupervisedEmulatorsOptions {
  readonly environment: Environment;
  /** Called for each line of the process. */
  readonly onLine: (line: string) => void;
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<SupervisedProcessObservation>;
  /** The process does not start. The applications are served without it. */
  readonly onFailed: (reason: string) => void;
}

/**
 * The process of the emulators, which starts with the first demand and is restarted when it exits. A new process is told all
 * demands so far, and its data is durable, so clients only notice that it was away.
 */
export class SupervisedEmulators implements Lifecycle {
  readonly name = 'emulators';
  readonly #process: SupervisedProcess;
  #demanded: readonly DemandedEndpoint[] = [];
  #child: ChildProcess | undefined;
  #started: Promise<void> | undefined;
  readonly #stopping = new AbortController();
  #pageUrl: string | undefined;
  #hasSettled = false;
  #onPage: () => void = () => undefined;

  readonly #onFailed: (reason: string) => void;
  readonly #clock: Clock;

  constructor(options: SupervisedEmulatorsOptions) {
    this.#onFailed = options.onFailed;
    this.#clock = options.clock;
    this.#process = new SupervisedProcess({
      ...options,
      role: this.name,
      module: emulatorsModule,
      environment: () => ({ ...withoutSecrets(options.environment), DROVER_LOG_FORMAT: 'json' }),
      relay: {
        attach: (_role, child) => {
          this.#child = child;
          this.#tell(this.#demanded);
        },
        detach: () => (this.#child = undefined),
      },
      onMessage: (message) => {
        if (!isEmulatorsPage(message)) return;
        this.#pageUrl = message.url ?? this.#pageUrl;
        this.#hasSettled = true;
        this.#onPage();
      },
      failed: (reason, cause) => emulatorsFailed({ reason }, cause),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Address of the page; undefined if this process serves no emulator, or does not after `withinMs`. */
  async page(withinMs: number): Promise<string | undefined> {
    if (!this.#started || this.#hasSettled) return this.#pageUrl;
    const isThere = new Promise<void>((resolve) => (this.#onPage = resolve));
    const waiting = new AbortController();
    const late = sleep(this.#clock, withinMs, AbortSignal.any([waiting.signal, this.#stopping.signal]));
    await Promise.race([isThere, late.catch(() => undefined)]);
    waiting.abort();
    return this.#pageUrl;
  }

  /** Starts with the first demand. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Has emulators started at these endpoints, unless they are. */
  demand(endpoints: readonly DemandedEndpoint[]): void {
    if (endpoints.length === 0 || this.#stopping.signal.aborted) return;
    this.#demanded = mergeDemands([...this.#demanded, ...endpoints]);
    if (this.#started) return this.#tell(endpoints);
    this.#started = this.#process.start(this.#stopping.signal).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#onFailed(error instanceof Error ? error.message : String(error));
    });
  }

  async drain(deadline: AbortSignal): Promise<void> {
    this.#stopping.abort();
    await this.#process.drain(deadline);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#process.stop();
    await this.#started;
  }

  #tell(endpoints: readonly DemandedEndpoint[]): void {
    const message: EmulatorsDemandMessage = { type: 'emulators.demand', endpoints };
    this.#child?.send(message, () => undefined); // a process that has just ended is told again after its restart
  }
}

const passedVariables =
  /^(PATH|HOME|TMPDIR|TZ|LANG|LC_.*|NODE_.*|DROVER_(DATA_DIR|EMULATORS_PAGE_PORT|LOG_LEVEL|DRAIN_.*)|DROVER_TEST_.*)$/;

/** The emulators need no connection string or key of the platform or an application. */
function withoutSecrets(environment: Environment): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => passedVariables.test(name)));
}
