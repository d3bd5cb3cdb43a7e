import { BackOff, sleep, type Clock, type Leash, type Lifecycle, type Observe } from '@drover/service-kit';
import type { Randomness, Secret } from '@drover/service-kit';
import { notStarted, startAborted } from './errors.js';
import { launch } from './launch.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import type { Postmaster } from './postmaster.js';
import { prepareSite, type Site, type SiteIo } from './site.js';
import { embeddedPostgresStates } from './states.js';

export interface EmbeddedPostgresOptions {
  /** Everything that is kept goes below this directory, unless root has to move it (see `postgres.moved`). */
  readonly directory: string;
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EmbeddedPostgresObservation>;
  /** Whom the server runs as when we are root; `postgres` or else `nobody` unless told. */
  readonly serverUser?: string;
  /** Settings of postgresql.conf on top of ours. They show in the process list: no secrets. */
  readonly settings?: Readonly<Record<string, string>>;
}

const restartBackOff = { firstMs: 100, maxMs: 10_000, factor: 2 };
/** A server that ran this long was sound: its loss is a first failure again. */
const soundAfterMs = 60_000;

/**
 * A real PostgreSQL of our own, on a socket only its user can reach. It ends with this process however that ends: by
 * `stop`, by the leash, or by the next start on the same directory. A server that exits by itself is started again until
 * `stop`, at the same URL.
 */
export class EmbeddedPostgres implements Lifecycle {
  readonly name = 'embedded PostgreSQL';
  readonly #options: EmbeddedPostgresOptions;
  readonly #machine = embeddedPostgresStates.start('stopped');
  readonly #backOff: BackOff;
  /** Aborted by stop: ends a start or the tries to restart. */
  #giveUp = new AbortController();
  /** The start or the restart that goes on; never rejects. */
  #busy: Promise<unknown> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #site: Site | undefined;
  #postmaster: Postmaster | undefined;
  #url: Secret | undefined;

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
    this.#backOff = new BackOff(restartBackOff, options);
  }

  /** The postmaster's, while one runs. */
  get pid(): number | undefined {
    return this.#postmaster?.pid;
  }

  /** Valid from the first start on, also over restarts of the server. */
  get url(): Secret {
    if (!this.#url) throw notStarted({});
    return this.#url;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#machine.move('starting');
    this.#giveUp = new AbortController();
    this.#backOff.reset();
    const either = AbortSignal.any([signal, this.#giveUp.signal]);
    const begun = this.#options.clock.monotonicMs();
    const bringUp = this.#bringUp(either);
    this.#busy = bringUp.catch(() => undefined);
    try {
      this.#beReady(await bringUp, begun);
    } catch (error) {
      const { aborted } = either; // before our own stop aborts it
      await this.stop();
      throw aborted ? startAborted({ directory: this.#options.directory }, error) : error;
    }
  }

  /** The server has no work of its own: its clients drain, and it serves them until then. */
  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#letGo().finally(() => {
      this.#stopped = undefined;
    });
    return this.#stopped;
  }

  async #bringUp(signal: AbortSignal): Promise<Postmaster> {
    const { directory, serverUser } = this.#options;
    const site = await prepareSite({ directory, serverUser }, this.#io, signal);
    this.#site = site;
    this.#url = site.url;
    return this.#launch(site, signal);
  }

  async #launch(site: Site, signal: AbortSignal): Promise<Postmaster> {
    const { settings = {} } = this.#options;
    this.#postmaster = await launch({ site, settings, io: this.#io, signal });
    signal.throwIfAborted(); // stop came as it got ready, and ends it
    return this.#postmaster;
  }

  #beReady(postmaster: Postmaster, begun: number): void {
    const { clock, observe } = this.#options;
    this.#machine.move('ready');
    const readyAt = clock.monotonicMs();
    observe({ kind: 'postgres.ready', pid: postmaster.pid, durationMs: readyAt - begun });
    void postmaster.exited.then(({ code, signal }) => {
      if (this.#postmaster === postmaster) this.#postmaster = undefined;
      if (!this.#machine.is('ready')) return;
      this.#machine.move('lost');
      observe({ kind: 'postgres.lost', pid: postmaster.pid, exitCode: code, signal });
      if (clock.monotonicMs() - readyAt > soundAfterMs) this.#backOff.reset();
      this.#busy = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#giveUp;
    const begun = clock.monotonicMs();
    while (this.#site && !signal.aborted) {
      const delayMs = this.#backOff.nextMs();
      const attempt = this.#backOff.failures;
      observe({ kind: 'postgres.restarting', attempt, delayMs });
      try {
        await sleep(clock, delayMs, signal);
        this.#beReady(await this.#launch(this.#site, signal), begun);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        observe({ kind: 'postgres.restart-failed', attempt, reason });
      }
    }
  }

  async #letGo(): Promise<void> {
    if (this.#machine.is('stopped')) return;
    const { clock, observe } = this.#options;
    const begun = clock.monotonicMs();
    this.#machine.move('stopping');
    this.#giveUp.abort(new DOMException('the embedded PostgreSQL is being stopped', 'AbortError'));
    await this.#busy;
    const site = this.#site;
    try {
      await this.#postmaster?.end();
      await site?.leave();
    } finally {
      this.#postmaster = undefined;
      this.#site = undefined;
      this.#machine.move('stopped');
    }
    if (site) observe({ kind: 'postgres.stopped', durationMs: clock.monotonicMs() - begun });
  }

  get #io(): SiteIo {
    return this.#options;
  }
}
