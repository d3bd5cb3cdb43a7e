import { migrate, type Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { systemClock, systemRandomness, type Clock } from '@drover/service-kit';
import { ownershipMigrations } from '../ownership-migrations.js';
import type { OwnershipTimings } from '../ownership-timings.js';
import { PartitionOwnership } from '../partition-ownership.js';
import type { OwnershipObservation } from '../observations.js';
import { allPartitions } from '../partitions.js';
import { RecordingListener } from './recording-listener.js';

/** Quick enough for tests, slow enough for a busy machine. */
export const testTimings: Partial<OwnershipTimings> = {
  pollEveryMs: 200,
  graceMs: 400,
  handoverMs: 2_000,
  redirectMs: 50,
};

export async function createOwnershipTables(database: Database): Promise<void> {
  await migrate(database, [ownershipMigrations], { release: 'test', ...quietIo });
}

export interface OpenedReplica {
  readonly id: string;
  readonly ownership: PartitionOwnership;
  readonly listener: RecordingListener;
  readonly seen: OwnershipObservation[];
  /** The partitions that it believes to own. */
  owned(): readonly number[];
  start(): Promise<void>;
}

let replicas = 0;

export interface OpenReplicaOptions {
  readonly timings?: Partial<OwnershipTimings>;
  readonly url?: string;
  readonly gone?: (url: string) => void;
  readonly clock?: Clock;
}

export function openReplica(
  database: Database,
  { timings, url, gone, clock = systemClock }: OpenReplicaOptions = {},
): OpenedReplica {
  replicas += 1;
  const id = `replica-${replicas}-${systemRandomness.uuid().slice(0, 8)}`;
  const listener = new RecordingListener();
  const seen: OwnershipObservation[] = [];
  const ownership = new PartitionOwnership({
    database,
    replicaId: id,
    url: () => url ?? `http://${id}.test`,
    timings: { ...testTimings, ...timings },
    clock,
    randomness: systemRandomness,
    observe: (observation) => seen.push(observation),
  });
  ownership.addListener(listener);
  if (gone) ownership.onReplicaGone(gone);
  return {
    id,
    ownership,
    listener,
    seen,
    owned: () => allPartitions.filter((partition) => ownership.locate(partition).kind === 'local'),
    start: () => ownership.start(new AbortController().signal),
  };
}
