import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { HubClient } from './hub-client.js';
import type { HubFailure } from './hub-failure.js';
import { Outage } from './outage.js';
import { HubPartitionClaims } from './partition-claims.js';
import { RuntimeCheckpointStore } from './runtime-checkpoint-store.js';

const never = new AbortController().signal;
const partitionIds = ['0', '1', '2', '3', '4', '5'];

/** Several runtimes over one store, each with its own clock of claims. */
class Runtimes {
  readonly clock = new FakeClock();
  readonly store: TriggerStore;
  readonly events: string[] = [];
  isHubDown = false;
  #count = 0;

  constructor(store: TriggerStore = new MemoryTriggerStore()) {
    this.store = store;
  }

  start(mayClaim: () => boolean = () => true) {
    this.#count += 1;
    const name = `r${this.#count}`;
    const { clock, events } = this;
    const randomness = seededRandomness(this.#count);
    const closing = new AbortController();
    const outages: string[] = [];
    const report = (what: string) => ({
      onBegin: () => void outages.push(`${what} down`),
      onEnd: () => void outages.push(`${what} up`),
    });
    const levels = new Map<string, number>();
    const describeHub = async () => {
      if (this.isHubDown) throw new Error('no hub');
      return { partitionIds, createdAtMs: 1 };
    };
    const claims = new HubPartitionClaims({
      hub: { describe: describeHub } as unknown as HubClient, // only this is asked
      store: new RuntimeCheckpointStore(this.store, 'app', { host: 'h', hub: 'o', consumerGroup: 'g' }),
      ownerId: name,
      updateIntervalMs: 1_000,
      expiryMs: 5_000,
      clock,
      randomness,
      hubOutage: new Outage<HubFailure>(clock, report('hub')),
      storeOutage: new Outage<'store'>(clock, report('store')),
      mayClaim,
      onClaimed: (partitionId, level) => {
        levels.set(partitionId, level);
        events.push(`${name} +${partitionId}`);
      },
      onLost: (partitionId) => events.push(`${name} -${partitionId}`),
    });
    const ended = claims.run(closing.signal);
    return { name, claims, levels, outages, kill: () => closing.abort(), ended };
  }

  /** Partitions by owner, over all that run. */
  sizes(...runtimes: readonly ReturnType<Runtimes['start']>[]): number[] {
    return runtimes.map(({ claims }) => claims.owned.size);
  }
}

describe('claims on partitions', () => {
  it('are all of a runtime that is alone, and are shared when others come', async () => {
    const runtimes = new Runtimes();
    const one = runtimes.start();
    await runtimes.clock.advance(100);
    expect(runtimes.sizes(one)).toEqual([6]);
    const two = runtimes.start();
    await runtimes.clock.advance(2_000);
    expect(runtimes.sizes(one, two)).toEqual([3, 3]);
    const three = runtimes.start();
    await runtimes.clock.advance(3_000);
    expect(runtimes.sizes(one, two, three)).toEqual([2, 2, 2]);
    const owned = [one, two, three].flatMap(({ claims }) => [...claims.owned]);
    expect(owned.toSorted()).toEqual(partitionIds);
    for (const runtime of [one, two, three]) runtime.kill();
  });

  it('of a killed runtime are taken over after their expiry and not before, at a higher level', async () => {
    const runtimes = new Runtimes();
    const [one, two] = [runtimes.start(), runtimes.start()];
    await runtimes.clock.advance(3_000);
    two.kill();
    const [first] = two.claims.owned;
    const before = two.levels.get(first ?? '') ?? 0;
    await runtimes.clock.advance(4_000);
    expect(runtimes.sizes(one)).toEqual([3]);
    await runtimes.clock.advance(3_000);
    expect(runtimes.sizes(one)).toEqual([6]);
    expect(one.levels.get(first ?? '')).toBe(before + 1);
    one.kill();
  });

  it('that were given back are taken at the next look', async () => {
    const runtimes = new Runtimes();
    const [one, two] = [runtimes.start(), runtimes.start()];
    await runtimes.clock.advance(3_000);
    two.kill();
    await Promise.all([...two.claims.owned].map((id) => two.claims.release(id, never)));
    await runtimes.clock.advance(1_100);
    expect(runtimes.sizes(one, two)).toEqual([6, 0]);
    one.kill();
  });

  it('are renewed for ever, and one that another runtime has is lost', async () => {
    const runtimes = new Runtimes();
    const one = runtimes.start();
    await runtimes.clock.advance(60_000);
    expect(runtimes.events.filter((event) => event.includes('-'))).toEqual([]);
    expect(await one.claims.isOwner('0', never)).toBe(true);
    const [claim] = await runtimes.store.list('event-hubs/app/h/o/g/ownership/0', never);
    await runtimes.store.write(claim?.key ?? '', '{"ownerId":"other","ownerLevel":9}', claim?.version, never);
    expect(await one.claims.isOwner('0', never)).toBe(false);
    await runtimes.clock.advance(1_100);
    expect(runtimes.events).toContain('r1 -0');
    one.kill();
  });

  it('are not made by a runtime that would not process them', async () => {
    const runtimes = new Runtimes();
    const idle = runtimes.start(() => false);
    await runtimes.clock.advance(5_000);
    expect(runtimes.sizes(idle)).toEqual([0]);
    idle.kill();
  });

  it('wait for a store or a hub that is down, with growing delays, and go on by themselves', async () => {
    const memory = new MemoryTriggerStore();
    let [isDown, attempts] = [true, 0];
    const store: TriggerStore = {
      read: (...call) => memory.read(...call),
      write: (...call) => memory.write(...call),
      remove: (...call) => memory.remove(...call),
      list: async (...call) => {
        attempts += 1;
        if (isDown) throw new Error('down');
        return await memory.list(...call);
      },
    };
    const runtimes = new Runtimes(store);
    runtimes.isHubDown = true;
    const one = runtimes.start();
    await runtimes.clock.advance(60_000);
    expect(attempts).toBeLessThan(15);
    expect(one.outages).toEqual(['store down']);
    isDown = false;
    await runtimes.clock.advance(31_000);
    expect(one.outages).toEqual(['store down', 'store up', 'hub down']);
    runtimes.isHubDown = false;
    await runtimes.clock.advance(31_000);
    expect(one.outages.at(-1)).toBe('hub up');
    expect(runtimes.sizes(one)).toEqual([6]);
    one.kill();
  });
});
