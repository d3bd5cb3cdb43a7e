import { afterEach, describe, expect, it } from 'vitest';
import type { Lifecycle } from '@drover/service-kit';
import type { OwnerDirectory } from '../owner-directory.js';
import type { OwnershipListener } from '../ownership-listener.js';
import { allPartitions, type FencingTokens } from '../partitions.js';
import { RecordingListener } from './recording-listener.js';

/** What the control plane relies on, whether it is one process or a replica among others. */
export interface Ownership extends Lifecycle, FencingTokens, OwnerDirectory {
  addListener(listener: OwnershipListener): void;
}

/** `create` returns a replica that has no peers. */
export function describeOwnership(name: string, create: () => Ownership): void {
  describe(`${name}: ownership of a single replica`, () => {
    let ownership: Ownership | undefined;
    afterEach(() => ownership?.stop());

    const never = new AbortController().signal;

    it('owns every partition once it has started, with a fencing token for each', async () => {
      ownership = create();
      await ownership.start(never);
      for (const partition of allPartitions) {
        expect(ownership.locate(partition)).toEqual({ kind: 'local' });
        expect(ownership.tokenOf(partition)).toBeGreaterThan(0);
      }
      expect(await ownership.waitForOwner(3, 60_000)).toEqual({ kind: 'local' });
    });

    it('holds the tokens when it notifies listeners, and notifies them in order', async () => {
      ownership = create();
      const { tokenOf } = { tokenOf: (partition: number) => ownership?.tokenOf(partition) };
      const order: string[] = [];
      for (const each of ['first', 'second']) {
        const listener = new RecordingListener();
        listener.onAcquired = async (partitions) => {
          expect(partitions.map(tokenOf)).not.toContain(undefined);
          order.push(`${each} acquired`);
        };
        listener.onReleasing = async () =>
          void (order.at(-1) === `${each} releasing` || order.push(`${each} releasing`));
        ownership.addListener(listener);
      }
      await ownership.start(never);
      expect(order).toEqual(['first acquired', 'second acquired']);
      await ownership.drain(never);
      expect(order.indexOf('first releasing')).toBeLessThan(order.indexOf('second releasing'));
      expect(order.indexOf('first releasing')).toBeGreaterThan(1);
    });

    it('releases each partition once when it drains, and nothing runs afterwards', async () => {
      ownership = create();
      const listener = new RecordingListener();
      ownership.addListener(listener);
      await ownership.start(never);
      expect(listener.running).toEqual(new Set(allPartitions));
      await ownership.drain(never);
      expect(listener.running.size).toBe(0);
      const released = listener.calls
        .filter((call) => call.startsWith('releasing'))
        .flatMap((call) => call.split(' ').slice(1));
      expect(released.map(Number).toSorted((a, b) => a - b)).toEqual(allPartitions);
      expect(listener.calls.filter((call) => call.startsWith('lost'))).toEqual([]);
    });

    it('can be stopped twice, and without a start', async () => {
      ownership = create();
      await ownership.stop();
      await expect(ownership.stop()).resolves.toBeUndefined();
    });
  });
}
