import { BackOff, WakeUp, type Clock, type Randomness } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { CheckpointStoreFailure, type CheckpointStore, type PartitionClaim } from './checkpoint-store.js';
import type { HubClient } from './hub-client.js';
import { hubFailureOf, type HubFailure } from './hub-failure.js';
import type { Outage } from './outage.js';
import { ClaimSightings, partitionsToClaim } from './partition-balance.js';

interface HubPartitionClaimsOptions {
  readonly hub: HubClient;
  readonly store: CheckpointStore;
  /** Identifies this listener among all runtimes. */
  readonly ownerId: string;
  readonly updateIntervalMs: number;
  readonly expiryMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly hubOutage: Outage<HubFailure>;
  readonly storeOutage: Outage<'store'>;
  /** False if this runtime must not take partitions, because it would not process them. */
  readonly mayClaim: () => boolean;
  readonly onClaimed: (partitionId: string, ownerLevel: number) => void;
  /** Another runtime has the partition. */
  readonly onLost: (partitionId: string) => void;
}

type OwnedClaim = Pick<PartitionClaim, 'ownerLevel' | 'version'>;

const failureBackOff = { firstMs: 200, maxMs: 30_000, factor: 2 };

/**
 * Claims the partitions of a hub for this runtime and renews them, so that all runtimes of a consumer group read nearly the
 * same number. The store arbitrates: of two runtimes that claim a partition, one write succeeds. A claim that is not renewed
 * for the expiry interval may be taken by others. The owner level of the reader enforces the claim at the service.
 */
export class HubPartitionClaims {
  readonly #options: HubPartitionClaimsOptions;
  readonly #owned = new Map<string, OwnedClaim>();
  readonly #sightings: ClaimSightings;
  readonly #wakeUp = new WakeUp();

  constructor(options: HubPartitionClaimsOptions) {
    this.#options = options;
    this.#sightings = new ClaimSightings(options.expiryMs);
  }

  get owned(): ReadonlySet<string> {
    return new Set(this.#owned.keys());
  }

  /** Looks at the claims at once. */
  wake(): void {
    this.#wakeUp.notify();
  }

  /** Renews and claims until `closing` aborts. */
  async run(closing: AbortSignal): Promise<void> {
    const { clock, updateIntervalMs, randomness } = this.#options;
    const backOff = new BackOff(failureBackOff, this.#options);
    while (!closing.aborted) {
      this.#wakeUp.reset();
      const isDone = await this.#cycle(closing);
      if (isDone) backOff.reset();
      // Spread, so that runtimes that started together do not decide together.
      const waitMs = isDone ? updateIntervalMs * (0.8 + 0.2 * randomness.fraction()) : backOff.nextMs();
      await this.#wakeUp.wait(clock, waitMs, closing);
    }
  }

  /** The reader of a partition was disconnected by another one: the next cycle decides whether to claim it again. */
  forget(partitionId: string): void {
    this.#owned.delete(partitionId);
  }

  /** Whether the store still has the claim. Rejects if the store is unavailable. */
  async isOwner(partitionId: string, signal: AbortSignal): Promise<boolean> {
    const claims = await this.#stored('owner', signal, (limited) => this.#options.store.claims(limited));
    const { ownerId } = this.#options;
    return (
      this.#owned.has(partitionId) && claims.some((one) => one.partitionId === partitionId && one.ownerId === ownerId)
    );
  }

  /** Gives a partition back, so that others need not wait for the expiry. One attempt. */
  async release(partitionId: string, signal: AbortSignal): Promise<void> {
    const owned = this.#owned.get(partitionId);
    if (!owned) return;
    this.#owned.delete(partitionId);
    const { store } = this.#options;
    const claim = { partitionId, ownerId: undefined, ownerLevel: owned.ownerLevel };
    await this.#stored('release', signal, (limited) => store.claim(claim, owned.version, limited)).catch(
      () => undefined,
    );
  }

  /** Resolves with false if the hub or the store is unavailable. */
  async #cycle(signal: AbortSignal): Promise<boolean> {
    const { hub, store, clock, ownerId, randomness, mayClaim, hubOutage } = this.#options;
    try {
      const claims = await this.#stored('claims', signal, (limited) => store.claims(limited));
      const expired = this.#sightings.see(claims, clock.monotonicMs());
      await this.#renew(claims, signal);
      if (!mayClaim()) return true;
      const { partitionIds } = await hub.describe(signal);
      hubOutage.succeeded('claims');
      const shares = claims.map((claim) => ({
        partitionId: claim.partitionId,
        ownerId: this.#ownerNow(claim, expired),
      }));
      const wanted = partitionsToClaim({ partitionIds, shares, self: ownerId, randomness });
      const known = new Map(claims.map((claim) => [claim.partitionId, claim]));
      await Promise.all(wanted.map((partitionId) => this.#claim(partitionId, known.get(partitionId), signal)));
      return true;
    } catch (error) {
      if (signal.aborted || error instanceof CheckpointStoreFailure) return false;
      hubOutage.failed('claims', hubFailureOf(error), error);
      return false;
    }
  }

  #ownerNow({ partitionId, ownerId }: PartitionClaim, expired: ReadonlySet<string>): string | undefined {
    if (this.#owned.has(partitionId)) return this.#options.ownerId;
    // An own claim without a reader was disconnected: it is free.
    return expired.has(partitionId) || ownerId === this.#options.ownerId ? undefined : ownerId;
  }

  async #renew(claims: readonly PartitionClaim[], signal: AbortSignal): Promise<void> {
    const { store, ownerId, onLost } = this.#options;
    const owners = new Map(claims.map((claim) => [claim.partitionId, claim.ownerId]));
    const renewals = [...this.#owned].map(async ([partitionId, { ownerLevel, version }]) => {
      const isMine = owners.get(partitionId) === ownerId;
      const renewed = isMine
        ? await this.#stored('renew', signal, (limited) =>
            store.claim({ partitionId, ownerId, ownerLevel }, version, limited),
          )
        : undefined;
      if (!this.#owned.has(partitionId)) return;
      if (renewed !== undefined) this.#owned.set(partitionId, { ownerLevel, version: renewed });
      else if (this.#owned.delete(partitionId)) onLost(partitionId);
    });
    await Promise.all(renewals);
  }

  async #claim(partitionId: string, known: PartitionClaim | undefined, signal: AbortSignal): Promise<void> {
    const { store, ownerId, onClaimed } = this.#options;
    const ownerLevel = store.keepsLevels ? (known?.ownerLevel ?? 0) + 1 : 0;
    const version = await this.#stored('claim', signal, (limited) =>
      store.claim({ partitionId, ownerId, ownerLevel }, known?.version, limited),
    );
    if (version === undefined || signal.aborted) return;
    this.#owned.set(partitionId, { ownerLevel, version });
    onClaimed(partitionId, ownerLevel);
  }

  async #stored<T>(part: string, signal: AbortSignal, call: (limited: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, storeOutage } = this.#options;
    try {
      const value = await withDeadline(clock, requestTimeoutMs, signal, call);
      storeOutage.succeeded(part);
      return value;
    } catch (error) {
      if (!signal.aborted) storeOutage.failed(part, 'store', error);
      throw new CheckpointStoreFailure(error);
    }
  }
}
