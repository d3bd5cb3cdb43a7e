import { BackOff, sleep, type Clock, type Leash, type Lifecycle, type Observe } from '@drover/service-kit';
import type { Randomness, Secret } from '@drover/service-kit';
import { notStarted, startAborted } from './errors.js';
import { launch } from './launch.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import type { Postmaster } from './postmaster.js';
import { prepareCluster, type PreparedCluster, type EmbeddedPostgresIo } from './prepared-cluster.js';
import { watchShutdown } from './shutdown-watch.js';
import { embeddedPostgresStates } from './states.js';

export interface EmbeddedPostgresOptions {
  /** Contains all files, unless root has to move the cluster elsewhere (see `postgres.moved`). */
  readonly directory: string;
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EmbeddedPostgresObservation>;
  /** User of the server if this process is root; by default `postgres`, else `nobody`. */
  readonly serverUser?: string;
  /** Additional settings of postgresql.conf. They are visible in the process list, so they must not contain secrets. */
  readonly settings?: Readonly<Record<string, string>>;
}

const restartBackOff = { firstMs: 100, maxMs: 10_000, factor: 2 };
/** A server that ran this long was healthy: its exit counts as a first failure again. */
const healthyAfterMs = 60_000;

/**
 * A PostgreSQL server as a child process, on a Unix socket that only its user can access. It ends with this process: by `stop`,
 * by the leash if this process is killed, or else by the next start on the same directory. A server that exits by itself is
 * restarted with the same URL until `stop`; one that was told to shut down is helped to, since it may wait for its clients for ever.
 */
export class EmbeddedPostgres implements Lifecycle {
  readonly name = 'embedded PostgreSQL';
  readonly #options: EmbeddedPostgresOptions;
  readonly #machine = embeddedPostgresStates.start('stopped');
  readonly #backOff: BackOff;
  /** Aborted by `stop`: cancels a start or the restarts. */
  #aborting = new AbortController();
  /** The start or restart in progress; never rejects. */
  #busy: Promise<unknown> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #prepared: PreparedCluster | undefined;
  #postmaster: Postmaster | undefined;
  #url: Secret | undefined;

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
    this.#backOff = new BackOff(restartBackOff, options);
  }

  /** Pid of the postmaster; undefined while none runs. */
  get pid(): number | undefined {
    return this.#postmaster?.pid;
  }

  /** Valid from the first start on, also across restarts of the server. */
  get url(): Secret {
    if (!this.#url) throw notStarted({});
    return this.#url;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#machine.move('starting');
    this.#aborting = new AbortController();
    this.#backOff.reset();
    const either = AbortSignal.any([signal, this.#aborting.signal]);
    const begun = this.#options.clock.monotonicMs();
    const starting = this.#prepareAndLaunch(either);
    this.#busy = starting.catch(() => undefined);
    try {
      this.#becomeReady(await starting, begun);
    } catch (error) {
      const { aborted } = either; // read before `stop` aborts it
      await this.stop();
      throw aborted ? startAborted({ directory: this.#options.directory }, error) : error;
    }
  }

  /** Nothing to drain: the server serves its clients until they are stopped. */
  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#shutDown().finally(() => {
      this.#stopped = undefined;
    });
    return this.#stopped;
  }

  async #prepareAndLaunch(signal: AbortSignal): Promise<Postmaster> {
    const { directory, serverUser } = this.#options;
    const prepared = await prepareCluster({ directory, serverUser }, this.#io, signal);
    this.#prepared = prepared;
    this.#url = prepared.url;
    return this.#launch(prepared, signal);
  }

  async #launch(prepared: PreparedCluster, signal: AbortSignal): Promise<Postmaster> {
    const { settings = {} } = this.#options;
    this.#postmaster = await launch({ prepared, settings, io: this.#io, signal });
    signal.throwIfAborted(); // `stop` was called while it became ready, and ends it
    return this.#postmaster;
  }

  #becomeReady(postmaster: Postmaster, begun: number): void {
    const { clock, observe } = this.#options;
    this.#machine.move('ready');
    const readyAt = clock.monotonicMs();
    observe({ kind: 'postgres.ready', pid: postmaster.pid, durationMs: readyAt - begun });
    const endWatch = this.#watchShutdown(postmaster);
    void postmaster.exited.then(({ code, signal }) => {
      endWatch();
      if (this.#postmaster === postmaster) this.#postmaster = undefined;
      if (!this.#machine.is('ready')) return;
      this.#machine.move('lost');
      observe({ kind: 'postgres.lost', pid: postmaster.pid, exitCode: code, signal });
      if (clock.monotonicMs() - readyAt > healthyAfterMs) this.#backOff.reset();
      this.#busy = this.#restart();
    });
  }

  #watchShutdown(postmaster: Postmaster): () => void {
    const { observe } = this.#options;
    const { cluster } = this.#prepared?.location ?? {};
    if (cluster === undefined) return () => undefined;
    try {
      return watchShutdown(cluster, () => {
        if (!this.#machine.is('ready') || this.#postmaster !== postmaster) return;
        observe({ kind: 'postgres.told-to-stop', pid: postmaster.pid });
        void postmaster.end();
      });
    } catch (error) {
      observe({ kind: 'postgres.not-watched', reason: error instanceof Error ? error.message : String(error) });
      return () => undefined;
    }
  }

  async #restart(): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#aborting;
    const begun = clock.monotonicMs();
    while (this.#prepared && !signal.aborted) {
      const delayMs = this.#backOff.nextMs();
      const attempt = this.#backOff.failures;
      observe({ kind: 'postgres.restarting', attempt, delayMs });
      try {
        await sleep(clock, delayMs, signal);
        this.#becomeReady(await this.#launch(this.#prepared, signal), begun);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        observe({ kind: 'postgres.restart-failed', attempt, reason });
      }
    }
  }

  async #shutDown(): Promise<void> {
    if (this.#machine.is('stopped')) return;
    const { clock, observe } = this.#options;
    const begun = clock.monotonicMs();
    this.#machine.move('stopping');
    this.#aborting.abort(new DOMException('the embedded PostgreSQL is stopping', 'AbortError'));
    await this.#busy;
    const prepared = this.#prepared;
    try {
      await this.#postmaster?.end();
      await prepared?.release();
    } finally {
      this.#postmaster = undefined;
      this.#prepared = undefined;
      this.#machine.move('stopped');
    }
    if (prepared) observe({ kind: 'postgres.stopped', durationMs: clock.monotonicMs() - begun });
  }

  get #io(): EmbeddedPostgresIo {
    return this.#options;
  }
}
