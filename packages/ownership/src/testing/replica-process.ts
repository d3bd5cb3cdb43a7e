import { Database } from '@drover/database';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import type { OwnershipTimings } from '../ownership-timings.js';
import { PartitionOwnership } from '../partition-ownership.js';
import { allPartitions } from '../partitions.js';
import { writeFenced } from './fenced-ledger.js';

/**
 * A replica as a process of its own, for tests that kill or freeze it. While it owns a partition it keeps writing to the ledger under
 * its token. Prints one JSON line per event; SIGTERM drains it.
 */
export interface ReplicaProcessSettings {
  readonly url: string;
  readonly replicaId: string;
  readonly timings: Partial<OwnershipTimings>;
}

// Written by the test that starts this process.
const { url, replicaId, timings } = JSON.parse(process.argv[2] ?? '{}') as ReplicaProcessSettings;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const io = { clock: systemClock, randomness: systemRandomness };
const database = new Database({
  url: new Secret(url),
  applicationName: replicaId,
  poolSize: 3,
  startWaitMs: 60_000,
  ...io,
  observe: () => undefined,
});
const tokens = new Map<number, number>();
const ownership = new PartitionOwnership({
  database,
  replicaId,
  url: () => `http://${replicaId}.test`,
  timings,
  ...io,
  observe: () => undefined,
});
ownership.addListener({
  async acquired(partitions) {
    for (const partition of partitions) tokens.set(partition, ownership.tokenOf(partition) ?? 0);
    say({ event: 'acquired', partitions });
  },
  async releasing(partitions) {
    for (const partition of partitions) tokens.delete(partition);
    say({ event: 'releasing', partitions });
  },
  lost(partitions) {
    say({ event: 'lost', partitions });
    // What a process does that notices the loss too late.
    for (const partition of partitions) {
      const token = tokens.get(partition);
      tokens.delete(partition);
      if (token === undefined) continue;
      void writeFenced(database, { partition, token, replicaId }).then(
        (written) => say({ event: written ? 'written-late' : 'refused', partition, token }),
        () => undefined,
      );
    }
  },
});

const ending = new AbortController();
async function keepWriting(): Promise<void> {
  while (!ending.signal.aborted) {
    for (const partition of allPartitions) {
      const token = ownership.locate(partition).kind === 'local' ? ownership.tokenOf(partition) : undefined;
      if (token !== undefined) await writeFenced(database, { partition, token, replicaId }).catch(() => undefined);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

process.once('disconnect', () => process.exit());
await database.start();
await ownership.start(new AbortController().signal);
say({ event: 'ready' });
const writing = keepWriting();
process.once('SIGTERM', () => {
  void (async () => {
    await ownership.drain(new AbortController().signal);
    ending.abort();
    await writing;
    await ownership.stop();
    await database.stop();
    say({ event: 'ended' });
    process.disconnect();
  })();
});
