import {
  composeRuntime,
  parseRuntimeConfig,
  type Invoker,
  type RuntimeComposition,
  type RuntimeObservation,
} from '@drover/runtime';
import {
  createLog,
  createMetrics,
  Health,
  Leash,
  systemClock,
  systemRandomness,
  type Environment,
  type Sinks,
} from '@drover/service-kit';
import { functionName, inputsOf, traceParent } from '../messages.js';

/** Of all observations, those that are logged by default. */
type Observed = RuntimeObservation & { readonly atMs: number };

/** What went wrong, and a worker that ended where none was to end. */
const unwanted = new Set<Observed['kind']>(['worker.lost', 'worker.unfit', 'process.given-up', 'job-host.failed']);

/**
 * A runtime as it runs in production, log and metrics included, in the middle of this process. What it observes is read
 * from its log; its workers end with this process, however that ends.
 */
export class ObservedRuntime {
  readonly observed: Observed[] = [];
  readonly #leash = new Leash();
  readonly #held = new Map<string, () => void>();
  readonly #watchers = new Set<() => void>();
  readonly #sinks: Sinks = {
    log: createLog('runtime', 'info', { write: (line) => this.#note(line) }),
    metrics: createMetrics('runtime'),
  };
  #composition: RuntimeComposition | undefined;

  /** Resolves when all workers are ready. */
  async start(variables: Environment, workers: number): Promise<void> {
    this.observed.length = 0;
    const io = { clock: systemClock, randomness: systemRandomness, sinks: this.#sinks, health: new Health() };
    const environment = { ...process.env, ...variables };
    this.#composition = composeRuntime({ ...parseRuntimeConfig(environment), environment }, io);
    await this.#composition.life.start(new AbortController().signal);
    await this.#until(() => this.all('worker.specialized').length === workers);
  }

  /** Those of one kind, in their order. */
  all<Kind extends Observed['kind']>(kind: Kind): Extract<Observed, { readonly kind: Kind }>[] {
    return this.observed.filter((one): one is Extract<Observed, { readonly kind: Kind }> => one.kind === kind);
  }

  get workerPids(): number[] {
    return this.all('process.started').flatMap(({ pid }) => pid ?? []);
  }

  /** Runs the function of the app once, as the listener of its queue would. */
  caller(): () => Promise<void> {
    const { invoker, definition } = this.#served();
    const { name } = definition.trigger;
    return async () => {
      const outcome = await invoker.invoke({ definition, inputs: () => inputsOf(name), trace: { traceParent } });
      if (outcome.kind !== 'succeeded') throw new Error(`the function ${outcome.kind}: ${JSON.stringify(outcome)}`);
    };
  }

  async stop(): Promise<void> {
    const { life } = this.#composition ?? {};
    this.#composition = undefined;
    await life?.drain(AbortSignal.timeout(5_000));
    await life?.stop();
    await this.#leash.stop();
  }

  #served(): { readonly invoker: Invoker; readonly definition: Definition } {
    for (const { host, invoker } of this.#composition?.served.values() ?? []) {
      const definition = host.functions.get(functionName);
      if (definition) return { invoker, definition };
    }
    throw new Error(`nobody serves ${functionName}; the runtime said:\n${this.#story()}`);
  }

  #note(line: string): void {
    const observed = { ...JSON.parse(line), atMs: performance.now() } as Observed; // its own observation, as JSON
    this.observed.push(observed);
    if (observed.kind === 'process.started' && observed.pid !== undefined)
      this.#held.set(observed.workerId, this.#leash.hold(observed.pid, { signal: 'SIGTERM', graceMs: 500 }));
    if (observed.kind === 'process.ended') this.#held.get(observed.workerId)?.();
    for (const watch of this.#watchers) watch();
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const fail = (why: string): void => {
        finish();
        reject(new Error(`${why}; the runtime said:\n${this.#story()}`));
      };
      const look = (): void => {
        if (this.observed.some(({ kind }) => unwanted.has(kind))) fail('a worker failed');
        else if (isSo()) {
          finish();
          resolve();
        }
      };
      const timer = setTimeout(() => fail('no worker got ready'), 30_000);
      this.#watchers.add(look);
      look();
    });
  }

  #story(): string {
    return this.observed.map((one) => JSON.stringify(one)).join('\n');
  }
}

type Definition = Parameters<Invoker['invoke']>[0]['definition'];
