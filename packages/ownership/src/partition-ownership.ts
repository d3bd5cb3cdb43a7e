import type { Database } from '@drover/database';
import { WakeUp, sleep, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { withTimeout } from './deadlines.js';
import { desiredOwners } from './desired-owners.js';
import { FailureDetector } from './failure-detector.js';
import { LivenessLock } from './liveness-lock.js';
import type { OwnershipObservation } from './observations.js';
import { OwnedPartitions } from './owned-partitions.js';
import { localOwner, movingOwner, type OwnerDirectory, type OwnerLocation } from './owner-directory.js';
import { OwnerWaiters } from './owner-waiters.js';
import { OwnershipListeners, type OwnershipListener } from './ownership-listener.js';
import { replicaStates } from './ownership-states.js';
import { OwnershipTable, type OwnershipSnapshot } from './ownership-table.js';
import { defaultOwnershipTimings, type OwnershipTimings } from './ownership-timings.js';
import { allPartitions, type FencingTokens } from './partitions.js';
import { ReplicaLease } from './replica-lease.js';

export interface PartitionOwnershipOptions {
  readonly database: Database;
  /** New for every process. */
  readonly replicaId: string;
  /** URL at which other replicas reach this one; read at the start and later. */
  readonly url: () => string;
  readonly timings?: Partial<OwnershipTimings>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<OwnershipObservation>;
}

/** Requests that cannot reach an owner cause one poll in this time, however many they are. */
const refreshEveryMs = 100;
/** As long as a request may wait at the former owner until the next one is known. */
const lastAnswersMs = 5_000;

/**
 * Shares the partitions among the replicas of the control plane. The rules:
 *
 * - A replica owns a partition from the moment the database said so until the replica's lease ends, by its own clock, which is
 *   stricter than the server's. The fencing token grows with every change of owner: a write of a former owner that does not know yet
 *   is refused where it is written.
 * - One loop polls replicas and partitions and decides by what it read; only this loop acquires. No replica takes a partition from
 *   another that lives: the owner sees for itself that another replica should have it, and releases it.
 * - A replica has failed when its lease has expired, or when its liveness lock was free for a while. Its row is deleted first, which
 *   ends its lease, and only then are its partitions acquired.
 * - Without the database every replica continues with what it owns until its lease ends. Then it starts nothing new. A replica that was
 *   paused past its lease asks first: what no other replica has taken goes on under the same token.
 */
export class PartitionOwnership implements Lifecycle, FencingTokens, OwnerDirectory {
  readonly name = 'partition ownership';
  readonly #options: PartitionOwnershipOptions;
  readonly #timings: OwnershipTimings;
  readonly #state = replicaStates.start('not-joined');
  readonly #listeners = new OwnershipListeners();
  readonly #lock: LivenessLock;
  readonly #table: OwnershipTable;
  readonly #lease: ReplicaLease;
  readonly #owned: OwnedPartitions;
  readonly #failureDetector: FailureDetector;
  readonly #wakeUp = new WakeUp();
  readonly #waiters: OwnerWaiters;
  readonly #stopping = new AbortController();
  readonly #locations: OwnerLocation[] = allPartitions.map(() => movingOwner);
  #onReplicaGone: ((url: string) => void) | undefined;
  #snapshot: OwnershipSnapshot = { replicas: [], partitions: [] };
  #lastPollFailed = false;
  /** The lease was lost, and the rows have not been read under a new one. */
  #isInDoubt = false;
  /** Partitions that have had no owner since the start. */
  readonly #unserved = new Set(allPartitions);
  #refreshedMs = -Infinity;
  #loop: Promise<void> = Promise.resolve();
  #polling: Promise<void> = Promise.resolve();

  constructor(options: PartitionOwnershipOptions) {
    const { clock, randomness, database, replicaId, url, observe } = options;
    this.#options = options;
    this.#timings = { ...defaultOwnershipTimings, ...options.timings };
    const { ttlMs, graceMs, reconnectMs } = this.#timings;
    this.#failureDetector = new FailureDetector(graceMs);
    this.#waiters = new OwnerWaiters(clock);
    this.#lock = new LivenessLock({
      database,
      replicaId,
      // Leaves time for two more renewals of the lease.
      answerWithinMs: ttlMs / 4,
      onChanged: () => this.#wakeUp.notify(),
      onReconnected: () => this.#failureDetector.ignoreUntil(clock.monotonicMs() + reconnectMs),
      clock,
      randomness,
    });
    this.#table = new OwnershipTable(this.#lock, replicaId);
    this.#lease = new ReplicaLease({
      table: this.#table,
      url,
      ttlMs,
      onLost: (cause) => this.#leaseLost(cause),
      clock,
    });
    this.#owned = new OwnedPartitions({
      listener: this.#listeners,
      table: this.#table,
      timings: this.#timings,
      onChanged: (partition) => this.#updateLocation(partition),
      onSettled: () => this.#wakeUp.notify(),
      clock,
      randomness,
      observe,
    });
  }

  /** Adds a listener; call it before `start`. Listeners are called in the order in which they were added. */
  addListener(listener: OwnershipListener): void {
    this.#listeners.add(listener);
  }

  /** Sets the handler for replicas that are gone for good: an answer that has not come from there by now will not come. */
  onReplicaGone(handler: (url: string) => void): void {
    this.#onReplicaGone = handler;
  }

  locate(partition: number): OwnerLocation {
    const location = this.#locations[partition] ?? movingOwner;
    return location !== localOwner || this.#mayAct ? location : movingOwner;
  }

  waitForOwner(partition: number, withinMs: number): Promise<OwnerLocation> {
    const location = this.locate(partition);
    return location === movingOwner && !this.#state.is('stopped')
      ? this.#waiters.wait(partition, withinMs)
      : Promise.resolve(location);
  }

  tokenOf(partition: number): number | undefined {
    const token = this.#owned.tokenOf(partition);
    return token !== undefined && this.#mayAct ? token : undefined;
  }

  heldTokenOf(partition: number): number | undefined {
    return this.#owned.tokenOf(partition);
  }

  /** Returns why calls are not served here, or undefined. A partition that moves later, while others are served, is no problem. */
  problem(): string | undefined {
    if (!this.#state.is('member')) return undefined; // not started, or about to end
    if (!this.#lease.isValid || this.#isInDoubt) return 'the lease of this replica is being renewed';
    const isServing = allPartitions.some((partition) => this.locate(partition) !== movingOwner);
    const waiting = isServing ? this.#unserved.size : allPartitions.length;
    return waiting === 0
      ? undefined
      : `the queues of ${waiting} of ${allPartitions.length} partitions are being recovered`;
  }

  get #mayAct(): boolean {
    return this.#lease.isValid && !this.#isInDoubt;
  }

  get #isAlone(): boolean {
    return this.#snapshot.replicas.every(({ id }) => id === this.#options.replicaId);
  }

  /**
   * The lease is over. Nothing new starts. What runs goes on until the next poll shows whether another replica has taken over, or, with
   * no other replica, until the database can be asked. A replica that was cut off from the database while others live stops at once: they
   * take over now.
   */
  #leaseLost(cause: 'cut-off' | 'in-doubt'): void {
    if (cause === 'cut-off' && !this.#isAlone) this.#owned.dropAll('not-renewed');
    else this.#isInDoubt = true;
    this.#wakeUp.notify();
  }

  refresh(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#refreshedMs < refreshEveryMs) return;
    this.#refreshedMs = nowMs;
    this.#wakeUp.notify();
  }

  /** Joins the replicas. Resolves when every partition has an owner, here or elsewhere, or when `startMs` are over. */
  async start(signal: AbortSignal): Promise<void> {
    const { startMs } = this.#timings;
    await this.#lock.start();
    signal.throwIfAborted();
    this.#state.move('member');
    await this.#join();
    this.#loop = this.#run();
    const owners = allPartitions.map((partition) => this.waitForOwner(partition, startMs));
    const abort = (): void => this.#waiters.abort();
    signal.addEventListener('abort', abort, { once: true });
    await Promise.all(owners);
    signal.removeEventListener('abort', abort);
    signal.throwIfAborted();
  }

  /** Releases every partition; afterwards requests are forwarded to the new owners. */
  async drain(deadline: AbortSignal): Promise<void> {
    if (!this.#state.is('member')) return;
    this.#state.move('draining');
    // Other replicas can prepare. If this gets lost, they notice the releases.
    await this.#table.drain().catch(() => undefined);
    // A poll that is under way may be about to acquire a partition.
    await this.#polling.catch(() => undefined);
    await this.#owned.releaseAll(deadline);
    if (!this.#state.is('draining')) return;
    this.#lease.end();
    await this.#table.leave().catch(() => undefined);
    this.#state.move('left');
    this.#wakeUp.notify();
    const { clock, replicaId } = this.#options;
    if (!this.#snapshot.replicas.some(({ id }) => id !== replicaId)) return;
    // Replicas that have not noticed yet still forward requests here. They get an answer rather than a closed port.
    await sleep(clock, this.#timings.redirectMs, deadline).catch(() => undefined);
  }

  async stop(): Promise<void> {
    if (this.#state.is('stopped')) return;
    const hadJoined = this.#state.is('member', 'draining');
    this.#state.move('stopped');
    this.#stopping.abort();
    this.#lease.end();
    this.#owned.dropAll('stopped');
    this.#waiters.abort();
    await this.#loop;
    // Best effort: otherwise the failure detector of another replica notices a little later.
    if (hadJoined) {
      const { clock } = this.#options;
      await withTimeout(clock, 1_000, 'leave', this.#table.leave()).catch(() => undefined);
    }
    await this.#lock.stop();
  }

  async #join(): Promise<void> {
    const { replicaId, url, observe } = this.#options;
    await this.#lease.acquire();
    observe({ kind: 'ownership.joined', replicaId, url: url() });
  }

  async #run(): Promise<void> {
    const { clock, randomness, observe } = this.#options;
    const { pollEveryMs } = this.#timings;
    while (!this.#stopping.signal.aborted) {
      this.#wakeUp.reset();
      try {
        this.#polling = this.#poll();
        await this.#polling;
        if (this.#lastPollFailed) observe({ kind: 'ownership.poll-recovered' });
        this.#lastPollFailed = false;
      } catch (error) {
        this.#dropIfDoubtful();
        // Observed once per outage, which would otherwise fill the log.
        if (!this.#lastPollFailed && !this.#stopping.signal.aborted) observe({ kind: 'ownership.poll-failed', error });
        this.#lastPollFailed = true;
      }
      // Jitter, so that replicas that started together do not poll together.
      const intervalMs = pollEveryMs * (0.75 + 0.5 * randomness.fraction());
      const nextCheckMs = this.#failureDetector.nextCheckAtMs - clock.monotonicMs();
      await this.#wakeUp.wait(clock, Math.max(5, Math.min(intervalMs, nextCheckMs)), this.#stopping.signal);
    }
  }

  async #poll(): Promise<void> {
    const { replicaId } = this.#options;
    // Without the liveness lock the other replicas would evict this one again.
    if (this.#state.is('member') && !this.#lease.isValid && this.#lock.isHeld) await this.#join();
    const before = this.#owned.holdings();
    let snapshot = await this.#table.read();
    if (await this.#evictFailed(snapshot)) snapshot = await this.#table.read();
    if (this.#stopping.signal.aborted) return;
    this.#reportGone(this.#snapshot, snapshot);
    this.#snapshot = snapshot;
    if (this.#lease.isValid && !snapshot.replicas.some(({ id }) => id === replicaId)) this.#lease.revoke();
    this.#owned.compare(before, snapshot.partitions, replicaId);
    if (this.#isInDoubt && this.#lease.isValid) this.#resume();
    this.#dropIfDoubtful();
    for (const partition of allPartitions) this.#updateLocation(partition);
    if (this.#state.is('member') && this.#lease.isValid) await this.#balance(snapshot);
    else if (this.#state.is('draining')) await this.#owned.releaseStrays(snapshot.partitions, replicaId, () => true);
  }

  /** The rows were read under a new lease: no other replica has taken what is left. */
  #resume(): void {
    const { observe } = this.#options;
    this.#isInDoubt = false;
    const partitions = allPartitions.filter((partition) => this.#owned.isOwned(partition));
    if (partitions.length === 0) return;
    observe({ kind: 'ownership.resumed', partitions });
    this.#listeners.resumed(partitions);
  }

  /** With others that may take over, one poll has to end the doubt. */
  #dropIfDoubtful(): void {
    if (!this.#isInDoubt || this.#isAlone) return;
    this.#isInDoubt = false;
    this.#owned.dropAll('not-renewed');
  }

  /** Reports replicas that another one has evicted. One that left in good order has time for its last answers. */
  #reportGone(before: OwnershipSnapshot, now: OwnershipSnapshot): void {
    if (!this.#onReplicaGone) return;
    const isIn = ({ replicas }: OwnershipSnapshot, url: string): boolean =>
      replicas.some((replica) => replica.url === url);
    for (const { url, draining } of before.replicas) {
      if (draining || isIn(now, url)) continue;
      this.#options.clock.after(lastAnswersMs, () => {
        if (!isIn(this.#snapshot, url)) this.#onReplicaGone?.(url);
      });
    }
  }

  /** Returns whether a replica was evicted. */
  async #evictFailed({ replicas }: OwnershipSnapshot): Promise<boolean> {
    const { replicaId, url, clock, observe } = this.#options;
    // A replica without a connection cannot tell which others have failed: the server may have closed all connections.
    if (!this.#lock.isHeld) this.#failureDetector.ignoreUntil(clock.monotonicMs() + this.#timings.reconnectMs);
    const others = replicas.filter(({ id }) => id !== replicaId);
    const failed = this.#failureDetector.failedIn(others, clock.monotonicMs(), url());
    if (failed.length === 0) return false;
    const evicted = await this.#table.evict(failed);
    for (const id of evicted) observe({ kind: 'ownership.replica-evicted', replicaId: id });
    for (const other of others) if (evicted.includes(other.id)) this.#onReplicaGone?.(other.url);
    return evicted.length > 0;
  }

  async #balance({ replicas, partitions }: OwnershipSnapshot): Promise<void> {
    const { replicaId } = this.#options;
    const candidates = replicas.filter(({ draining }) => !draining).map(({ id }) => id);
    const alive = new Set(replicas.map(({ id }) => id));
    const owners = partitions.map(({ holder }) => (holder !== null && alive.has(holder) ? holder : undefined));
    const desired = desiredOwners(candidates, owners);
    const isDesired = (partition: number): boolean => desired[partition] === replicaId;
    this.#owned.releaseUnless(isDesired);
    await this.#owned.releaseStrays(partitions, replicaId, (partition) => !isDesired(partition));
    const free = partitions.filter(({ holder }) => holder === null || holder === replicaId || !alive.has(holder));
    await this.#owned.acquire(
      free.filter(({ partition }) => isDesired(partition)),
      () => this.#lease.isValid,
    );
  }

  #updateLocation(partition: number): void {
    const location = this.#owned.isOwned(partition) ? localOwner : this.#remoteOwner(partition);
    this.#locations[partition] = location;
    const shown = this.locate(partition);
    if (shown === movingOwner) return;
    this.#unserved.delete(partition);
    this.#waiters.resolve(partition, shown);
  }

  #remoteOwner(partition: number): OwnerLocation {
    const { replicaId } = this.#options;
    const holder = this.#snapshot.partitions[partition]?.holder;
    if (!this.#owned.isNotOwned(partition) || holder == null || holder === replicaId) return movingOwner;
    const replica = this.#snapshot.replicas.find(({ id }) => id === holder);
    // An owner without its liveness lock has probably failed and is replaced in a moment: requests wait rather than fail there. A
    // replica that has lost its own connection cannot tell.
    if (!replica || (!replica.present && this.#lock.isHeld)) return movingOwner;
    return { kind: 'remote', url: replica.url, replicaId: replica.id };
  }
}
