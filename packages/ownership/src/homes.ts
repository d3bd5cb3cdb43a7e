import type { Database } from '@drover/database';
import { WakeUp, sleep, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { Absences } from './absences.js';
import { desiredHomes } from './desired-homes.js';
import { homesStates } from './home-states.js';
import { HomeTable, type Look } from './home-table.js';
import { defaultHomeTimings, type HomeTimings } from './home-timings.js';
import { here, moving, type HomeDirectory, type HomeListener, type Location } from './location.js';
import { Membership } from './membership.js';
import type { HomesObservation } from './observations.js';
import { OwnPartitions } from './own-partitions.js';
import { partitionCount, type Fences } from './partitions.js';
import { Presence } from './presence.js';
import { SettledWaits } from './settled-waits.js';
import { within } from './within.js';

export type { HomeListener, Location } from './location.js';

export interface HomesOptions {
  readonly database: Database;
  /** New for every process. */
  readonly replicaId: string;
  /** Where other replicas reach this one; asked when Homes starts and later. */
  readonly url: () => string;
  readonly listener: HomeListener;
  /** A replica is gone for good: whatever it has not answered by now it will not answer. */
  readonly gone?: (url: string) => void;
  readonly timings?: Partial<HomeTimings>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<HomesObservation>;
}

const doubtEveryMs = 100;
/** As long as a request may wait at its former home until it is known where the next is. */
const lastAnswersMs = 5_000;

/**
 * Shares the partitions among the replicas of the control plane. The rules:
 *
 * - A partition is ours from the moment the database said so until our membership is not in time any more, judged by our
 *   own clock, which is stricter than the server's. Its token grows with every change of holder: what we do in the belief
 *   of being home, after we are not, is refused where it is written.
 * - One loop looks at replicas and homes, and decides by what it saw; it is the only one that acquires. Nobody takes a
 *   partition from a replica that lives: that one sees for itself that another should have it, and hands it over.
 * - A replica is gone when its row has expired, or when its lock is free for a while. Then its row is deleted, which ends
 *   its membership, before anything of it is taken.
 * - Without the database everybody goes on with what is theirs, until it expires.
 */
export class Homes implements Lifecycle, Fences, HomeDirectory {
  readonly name = 'homes';
  readonly #options: HomesOptions;
  readonly #timings: HomeTimings;
  readonly #state = homesStates.start('outside');
  readonly #presence: Presence;
  readonly #table: HomeTable;
  readonly #membership: Membership;
  readonly #own: OwnPartitions;
  readonly #absences: Absences;
  readonly #wakeUp = new WakeUp();
  readonly #waits: SettledWaits;
  readonly #stopping = new AbortController();
  readonly #locations: Location[] = Array.from({ length: partitionCount }, () => moving);
  #look: Look = { replicas: [], homes: [] };
  #steady = true;
  #doubtedMs = -Infinity;
  #loop: Promise<void> = Promise.resolve();
  #ticking: Promise<void> = Promise.resolve();

  constructor(options: HomesOptions) {
    const { clock, randomness, database, replicaId, url, listener, observe } = options;
    this.#options = options;
    this.#timings = { ...defaultHomeTimings, ...options.timings };
    const { ttlMs, graceMs, returnMs } = this.#timings;
    this.#absences = new Absences(graceMs);
    this.#waits = new SettledWaits(clock);
    this.#presence = new Presence({
      database,
      replicaId,
      // Leaves time for two more tries to renew.
      patienceMs: ttlMs / 4,
      wake: () => this.#wakeUp.notify(),
      returned: () => this.#absences.forgiveUntil(clock.monotonicMs() + returnMs),
      clock,
      randomness,
    });
    this.#table = new HomeTable(this.#presence, replicaId);
    this.#membership = new Membership({
      table: this.#table,
      url,
      ttlMs,
      over: () => {
        this.#own.dropAll('not-renewed');
        this.#wakeUp.notify();
      },
      clock,
    });
    this.#own = new OwnPartitions({
      listener,
      table: this.#table,
      timings: this.#timings,
      changed: (partition) => this.#refresh(partition),
      settled: () => this.#wakeUp.notify(),
      clock,
      randomness,
      observe,
    });
  }

  locate(partition: number): Location {
    const location = this.#locations[partition] ?? moving;
    return location !== here || this.#membership.valid ? location : moving;
  }

  whenSettled(partition: number, withinMs: number): Promise<Location> {
    const location = this.locate(partition);
    return location === moving && !this.#state.is('stopped')
      ? this.#waits.wait(partition, withinMs)
      : Promise.resolve(location);
  }

  tokenOf(partition: number): number | undefined {
    const token = this.#own.tokenOf(partition);
    return token !== undefined && this.#membership.valid ? token : undefined;
  }

  lookAgain(): void {
    // Whoever cannot be reached is not reached by many at once.
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#doubtedMs < doubtEveryMs) return;
    this.#doubtedMs = nowMs;
    this.#wakeUp.notify();
  }

  /** Resolves when every partition has a home, here or elsewhere; later ones are not waited for too long. */
  async start(signal: AbortSignal): Promise<void> {
    const { startMs } = this.#timings;
    await this.#presence.start();
    signal.throwIfAborted();
    this.#state.move('member');
    await this.#join();
    this.#loop = this.#run();
    const all = Array.from({ length: partitionCount }, (_, partition) => this.whenSettled(partition, startMs));
    const giveUp = (): void => this.#waits.giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    await Promise.all(all);
    signal.removeEventListener('abort', giveUp);
    signal.throwIfAborted();
  }

  /** Hands everything over; from then on requests are passed on to where it went. */
  async drain(deadline: AbortSignal): Promise<void> {
    if (!this.#state.is('member')) return;
    this.#state.move('draining');
    // The others may prepare; if this gets lost, they see it when we release.
    await this.#table.drain().catch(() => undefined);
    // It may be about to acquire something.
    await this.#ticking.catch(() => undefined);
    await this.#own.leaveAll(deadline);
    if (!this.#state.is('draining')) return;
    this.#membership.end();
    await this.#table.leave().catch(() => undefined);
    this.#state.move('left');
    this.#wakeUp.notify();
    const { clock, replicaId } = this.#options;
    if (!this.#look.replicas.some(({ id }) => id !== replicaId)) return;
    // Until the others have seen it they send things here: they are told that it is elsewhere, and do not find a closed door.
    await sleep(clock, this.#timings.farewellMs, deadline).catch(() => undefined);
  }

  async stop(): Promise<void> {
    if (this.#state.is('stopped')) return;
    const hadJoined = this.#state.is('member', 'draining');
    this.#state.move('stopped');
    this.#stopping.abort();
    this.#membership.end();
    this.#own.dropAll('stopped');
    this.#waits.giveUp();
    await this.#loop;
    // Not required: without it the others notice a little later.
    if (hadJoined) {
      const { clock } = this.#options;
      await within(clock, 1_000, 'leave', this.#table.leave()).catch(() => undefined);
    }
    await this.#presence.stop();
  }

  async #join(): Promise<void> {
    const { replicaId, url, observe } = this.#options;
    await this.#membership.join();
    observe({ kind: 'homes.joined', replicaId, url: url() });
  }

  async #run(): Promise<void> {
    const { clock, randomness, observe } = this.#options;
    const { lookEveryMs } = this.#timings;
    while (!this.#stopping.signal.aborted) {
      this.#wakeUp.reset();
      try {
        this.#ticking = this.#tick();
        await this.#ticking;
        if (!this.#steady) observe({ kind: 'homes.steady' });
        this.#steady = true;
      } catch (error) {
        // Said once: a server that stays away would fill the log.
        if (this.#steady && !this.#stopping.signal.aborted) observe({ kind: 'homes.unsteady', error });
        this.#steady = false;
      }
      // Spread, so that replicas that started together do not ask together.
      const usualMs = lookEveryMs * (0.75 + 0.5 * randomness.fraction());
      const ripeMs = this.#absences.ripeAtMs - clock.monotonicMs();
      await this.#wakeUp.wait(clock, Math.max(5, Math.min(usualMs, ripeMs)), this.#stopping.signal);
    }
  }

  async #tick(): Promise<void> {
    const { replicaId } = this.#options;
    // Only who can be seen joins: the others would bury us again.
    if (this.#state.is('member') && !this.#membership.valid && this.#presence.visible) await this.#join();
    const before = this.#own.holdings();
    let look = await this.#table.look();
    if (await this.#bury(look)) look = await this.#table.look();
    if (this.#stopping.signal.aborted) return;
    this.#noteGone(this.#look, look);
    this.#look = look;
    if (this.#membership.valid && !look.replicas.some(({ id }) => id === replicaId)) this.#membership.refuse();
    this.#own.compare(before, look.homes, replicaId);
    for (let partition = 0; partition < partitionCount; partition += 1) this.#refresh(partition);
    if (this.#state.is('member') && this.#membership.valid) await this.#balance(look);
    else if (this.#state.is('draining')) await this.#own.releaseStrays(look.homes, replicaId, () => true);
  }

  /** Another has buried it, or it left in good order and answers what it was asked: it is given the time for that. */
  #noteGone(before: Look, now: Look): void {
    const { gone, clock } = this.#options;
    if (!gone) return;
    const isIn = ({ replicas }: Look, url: string): boolean => replicas.some((replica) => replica.url === url);
    for (const { url, draining } of before.replicas) {
      if (draining || isIn(now, url)) continue;
      clock.after(lastAnswersMs, () => {
        if (!isIn(this.#look, url)) gone(url);
      });
    }
  }

  async #bury({ replicas }: Look): Promise<boolean> {
    const { replicaId, url, clock, observe } = this.#options;
    // Whoever is cut off itself cannot say who else is: perhaps the server closed all connections.
    if (!this.#presence.visible) this.#absences.forgiveUntil(clock.monotonicMs() + this.#timings.returnMs);
    const others = replicas.filter(({ id }) => id !== replicaId);
    const gone = this.#absences.judge(others, clock.monotonicMs(), url());
    if (gone.length === 0) return false;
    const buried = await this.#table.bury(gone);
    for (const id of buried) observe({ kind: 'homes.replica-gone', replicaId: id });
    for (const { id, url: buriedUrl } of others) if (buried.includes(id)) this.#options.gone?.(buriedUrl);
    return buried.length > 0;
  }

  async #balance({ replicas, homes }: Look): Promise<void> {
    const { replicaId } = this.#options;
    const candidates = replicas.filter(({ draining }) => !draining).map(({ id }) => id);
    const alive = new Set(replicas.map(({ id }) => id));
    const holders = homes.map(({ holder }) => (holder !== null && alive.has(holder) ? holder : undefined));
    const desired = desiredHomes(candidates, holders);
    const isOurs = (partition: number): boolean => desired[partition] === replicaId;
    this.#own.leaveUnless(isOurs);
    await this.#own.releaseStrays(homes, replicaId, (partition) => !isOurs(partition));
    const free = homes.filter(({ holder }) => holder === null || holder === replicaId || !alive.has(holder));
    await this.#own.acquire(
      free.filter(({ partition }) => isOurs(partition)),
      () => this.#membership.valid,
    );
  }

  #refresh(partition: number): void {
    const location = this.#own.isHere(partition) ? here : this.#elsewhere(partition);
    this.#locations[partition] = location;
    if (location !== moving) this.#waits.settle(partition, location);
  }

  #elsewhere(partition: number): Location {
    const { replicaId } = this.#options;
    const holder = this.#look.homes[partition]?.holder;
    if (!this.#own.isElsewhere(partition) || holder == null || holder === replicaId) return moving;
    const replica = this.#look.replicas.find(({ id }) => id === holder);
    // Without its lock it is probably dead, and somebody will take over in a moment: better to wait than to be refused there.
    // When our own connection is away too, that says nothing.
    if (!replica || (!replica.present && this.#presence.visible)) return moving;
    return { kind: 'there', url: replica.url, replicaId: replica.id };
  }
}
