import type { Database } from '@drover/database';
import { WakeUp, sleep, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { FailureDetector } from './failure-detector.js';
import { desiredOwners } from './desired-owners.js';
import { replicaStates } from './ownership-states.js';
import { OwnershipTable, type OwnershipSnapshot } from './ownership-table.js';
import { defaultOwnershipTimings, type OwnershipTimings } from './ownership-timings.js';
import { here, moving, type OwnerDirectory, type OwnershipListener, type OwnerLocation } from './owner-directory.js';
import { ReplicaLease } from './replica-lease.js';
import type { OwnershipObservation } from './observations.js';
import { OwnedPartitions } from './owned-partitions.js';
import { partitionCount, type FencingTokens } from './partitions.js';
import { LivenessLock } from './liveness-lock.js';
import { OwnerWaiters } from './owner-waiters.js';
import { within } from './within.js';

export type { OwnershipListener, OwnerLocation } from './owner-directory.js';

export interface PartitionOwnershipOptions {
  readonly database: Database;
  /** New for every process. */
  readonly replicaId: string;
  /** Where other replicas reach this one; asked when PartitionOwnership starts and later. */
  readonly url: () => string;
  readonly listener: OwnershipListener;
  /** A replica is gone for good: whatever it has not answered by now it will not answer. */
  readonly gone?: (url: string) => void;
  readonly timings?: Partial<OwnershipTimings>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<OwnershipObservation>;
}

const doubtEveryMs = 100;
/** As long as a request may wait at its former home until it is known where the next is. */
const lastAnswersMs = 5_000;

/**
 * Shares the partitions among the replicas of the control plane. The rules:
 *
 * - A partition is ours from the moment the database said so until our lease is not in time any more, judged by our
 *   own clock, which is stricter than the server's. Its token grows with every change of holder: what we do in the belief
 *   of being home, after we are not, is refused where it is written.
 * - One loop looks at replicas and ownership, and decides by what it saw; it is the only one that acquires. Nobody takes a
 *   partition from a replica that lives: that one sees for itself that another should have it, and hands it over.
 * - A replica is gone when its row has expired, or when its lock is free for a while. Then its row is deleted, which ends
 *   its lease, before anything of it is taken.
 * - Without the database everybody goes on with what is theirs, until it expires.
 */
export class PartitionOwnership implements Lifecycle, FencingTokens, OwnerDirectory {
  readonly name = 'partition ownership';
  readonly #options: PartitionOwnershipOptions;
  readonly #timings: OwnershipTimings;
  readonly #state = replicaStates.start('outside');
  readonly #lock: LivenessLock;
  readonly #table: OwnershipTable;
  readonly #lease: ReplicaLease;
  readonly #own: OwnedPartitions;
  readonly #failures: FailureDetector;
  readonly #wakeUp = new WakeUp();
  readonly #waits: OwnerWaiters;
  readonly #stopping = new AbortController();
  readonly #locations: OwnerLocation[] = Array.from({ length: partitionCount }, () => moving);
  #look: OwnershipSnapshot = { replicas: [], partitions: [] };
  #steady = true;
  #doubtedMs = -Infinity;
  #loop: Promise<void> = Promise.resolve();
  #ticking: Promise<void> = Promise.resolve();

  constructor(options: PartitionOwnershipOptions) {
    const { clock, randomness, database, replicaId, url, listener, observe } = options;
    this.#options = options;
    this.#timings = { ...defaultOwnershipTimings, ...options.timings };
    const { ttlMs, graceMs, reconnectMs } = this.#timings;
    this.#failures = new FailureDetector(graceMs);
    this.#waits = new OwnerWaiters(clock);
    this.#lock = new LivenessLock({
      database,
      replicaId,
      // Leaves time for two more tries to renew.
      answerWithinMs: ttlMs / 4,
      wake: () => this.#wakeUp.notify(),
      returned: () => this.#failures.forgiveUntil(clock.monotonicMs() + reconnectMs),
      clock,
      randomness,
    });
    this.#table = new OwnershipTable(this.#lock, replicaId);
    this.#lease = new ReplicaLease({
      table: this.#table,
      url,
      ttlMs,
      over: () => {
        this.#own.dropAll('not-renewed');
        this.#wakeUp.notify();
      },
      clock,
    });
    this.#own = new OwnedPartitions({
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

  locate(partition: number): OwnerLocation {
    const location = this.#locations[partition] ?? moving;
    return location !== here || this.#lease.valid ? location : moving;
  }

  waitForOwner(partition: number, withinMs: number): Promise<OwnerLocation> {
    const location = this.locate(partition);
    return location === moving && !this.#state.is('stopped')
      ? this.#waits.wait(partition, withinMs)
      : Promise.resolve(location);
  }

  tokenOf(partition: number): number | undefined {
    const token = this.#own.tokenOf(partition);
    return token !== undefined && this.#lease.valid ? token : undefined;
  }

  refresh(): void {
    // Whoever cannot be reached is not reached by many at once.
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#doubtedMs < doubtEveryMs) return;
    this.#doubtedMs = nowMs;
    this.#wakeUp.notify();
  }

  /** Resolves when every partition has a home, here or elsewhere; later ones are not waited for too long. */
  async start(signal: AbortSignal): Promise<void> {
    const { startMs } = this.#timings;
    await this.#lock.start();
    signal.throwIfAborted();
    this.#state.move('member');
    await this.#join();
    this.#loop = this.#run();
    const all = Array.from({ length: partitionCount }, (_, partition) => this.waitForOwner(partition, startMs));
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
    this.#lease.end();
    await this.#table.leave().catch(() => undefined);
    this.#state.move('left');
    this.#wakeUp.notify();
    const { clock, replicaId } = this.#options;
    if (!this.#look.replicas.some(({ id }) => id !== replicaId)) return;
    // Until the others have seen it they send things here: they are calls that it is elsewhere, and do not find a closed door.
    await sleep(clock, this.#timings.redirectMs, deadline).catch(() => undefined);
  }

  async stop(): Promise<void> {
    if (this.#state.is('stopped')) return;
    const hadJoined = this.#state.is('member', 'draining');
    this.#state.move('stopped');
    this.#stopping.abort();
    this.#lease.end();
    this.#own.dropAll('stopped');
    this.#waits.giveUp();
    await this.#loop;
    // Not required: without it the others notice a little later.
    if (hadJoined) {
      const { clock } = this.#options;
      await within(clock, 1_000, 'leave', this.#table.leave()).catch(() => undefined);
    }
    await this.#lock.stop();
  }

  async #join(): Promise<void> {
    const { replicaId, url, observe } = this.#options;
    await this.#lease.join();
    observe({ kind: 'ownership.joined', replicaId, url: url() });
  }

  async #run(): Promise<void> {
    const { clock, randomness, observe } = this.#options;
    const { pollEveryMs } = this.#timings;
    while (!this.#stopping.signal.aborted) {
      this.#wakeUp.reset();
      try {
        this.#ticking = this.#tick();
        await this.#ticking;
        if (!this.#steady) observe({ kind: 'ownership.poll-recovered' });
        this.#steady = true;
      } catch (error) {
        // Said once: a server that stays away would fill the log.
        if (this.#steady && !this.#stopping.signal.aborted) observe({ kind: 'ownership.poll-failed', error });
        this.#steady = false;
      }
      // Spread, so that replicas that started together do not ask together.
      const usualMs = pollEveryMs * (0.75 + 0.5 * randomness.fraction());
      const ripeMs = this.#failures.ripeAtMs - clock.monotonicMs();
      await this.#wakeUp.wait(clock, Math.max(5, Math.min(usualMs, ripeMs)), this.#stopping.signal);
    }
  }

  async #tick(): Promise<void> {
    const { replicaId } = this.#options;
    // Only who can be seen joins: the others would evict us again.
    if (this.#state.is('member') && !this.#lease.valid && this.#lock.visible) await this.#join();
    const before = this.#own.holdings();
    let look = await this.#table.look();
    if (await this.#evict(look)) look = await this.#table.look();
    if (this.#stopping.signal.aborted) return;
    this.#noteGone(this.#look, look);
    this.#look = look;
    if (this.#lease.valid && !look.replicas.some(({ id }) => id === replicaId)) this.#lease.refuse();
    this.#own.compare(before, look.partitions, replicaId);
    for (let partition = 0; partition < partitionCount; partition += 1) this.#refresh(partition);
    if (this.#state.is('member') && this.#lease.valid) await this.#balance(look);
    else if (this.#state.is('draining')) await this.#own.releaseStrays(look.partitions, replicaId, () => true);
  }

  /** Another has evicted it, or it left in good order and answers what it was asked: it is given the time for that. */
  #noteGone(before: OwnershipSnapshot, now: OwnershipSnapshot): void {
    const { gone, clock } = this.#options;
    if (!gone) return;
    const isIn = ({ replicas }: OwnershipSnapshot, url: string): boolean =>
      replicas.some((replica) => replica.url === url);
    for (const { url, draining } of before.replicas) {
      if (draining || isIn(now, url)) continue;
      clock.after(lastAnswersMs, () => {
        if (!isIn(this.#look, url)) gone(url);
      });
    }
  }

  async #evict({ replicas }: OwnershipSnapshot): Promise<boolean> {
    const { replicaId, url, clock, observe } = this.#options;
    // Whoever is cut off itself cannot say who else is: perhaps the server closed all connections.
    if (!this.#lock.visible) this.#failures.forgiveUntil(clock.monotonicMs() + this.#timings.reconnectMs);
    const others = replicas.filter(({ id }) => id !== replicaId);
    const gone = this.#failures.judge(others, clock.monotonicMs(), url());
    if (gone.length === 0) return false;
    const evicted = await this.#table.evict(gone);
    for (const id of evicted) observe({ kind: 'ownership.replica-evicted', replicaId: id });
    for (const { id, url: evictedUrl } of others) if (evicted.includes(id)) this.#options.gone?.(evictedUrl);
    return evicted.length > 0;
  }

  async #balance({ replicas, partitions }: OwnershipSnapshot): Promise<void> {
    const { replicaId } = this.#options;
    const candidates = replicas.filter(({ draining }) => !draining).map(({ id }) => id);
    const alive = new Set(replicas.map(({ id }) => id));
    const holders = partitions.map(({ holder }) => (holder !== null && alive.has(holder) ? holder : undefined));
    const desired = desiredOwners(candidates, holders);
    const isOurs = (partition: number): boolean => desired[partition] === replicaId;
    this.#own.leaveUnless(isOurs);
    await this.#own.releaseStrays(partitions, replicaId, (partition) => !isOurs(partition));
    const free = partitions.filter(({ holder }) => holder === null || holder === replicaId || !alive.has(holder));
    await this.#own.acquire(
      free.filter(({ partition }) => isOurs(partition)),
      () => this.#lease.valid,
    );
  }

  #refresh(partition: number): void {
    const location = this.#own.isHere(partition) ? here : this.#elsewhere(partition);
    this.#locations[partition] = location;
    if (location !== moving) this.#waits.settle(partition, location);
  }

  #elsewhere(partition: number): OwnerLocation {
    const { replicaId } = this.#options;
    const holder = this.#look.partitions[partition]?.holder;
    if (!this.#own.isElsewhere(partition) || holder == null || holder === replicaId) return moving;
    const replica = this.#look.replicas.find(({ id }) => id === holder);
    // Without its lock it is probably dead, and somebody will take over in a moment: better to wait than to be refused there.
    // When our own connection is away too, that says nothing.
    if (!replica || (!replica.present && this.#lock.visible)) return moving;
    return { kind: 'remote', url: replica.url, replicaId: replica.id };
  }
}
