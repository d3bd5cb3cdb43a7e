import { migrate, type Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { systemClock, systemRandomness, type Clock } from '@drover/service-kit';
import { homeMigrations } from '../home-migrations.js';
import type { HomeTimings } from '../home-timings.js';
import { Homes } from '../homes.js';
import type { HomesObservation } from '../observations.js';
import { partitionCount } from '../partitions.js';
import { RecordingListener } from './recording-listener.js';

/** Quick enough for tests, slow enough for a busy machine. */
export const testTimings: Partial<HomeTimings> = {
  lookEveryMs: 200,
  graceMs: 400,
  handoverMs: 2_000,
  farewellMs: 50,
};

export const everyPartition: readonly number[] = Array.from({ length: partitionCount }, (_, partition) => partition);

export async function makeHomeTables(database: Database): Promise<void> {
  await migrate(database, [homeMigrations], { release: 'test', ...quietIo });
}

export interface OpenedHomes {
  readonly id: string;
  readonly homes: Homes;
  readonly listener: RecordingListener;
  readonly seen: HomesObservation[];
  /** The partitions whose home it believes to be. */
  here(): readonly number[];
  start(): Promise<void>;
}

let replicas = 0;

export interface OpenOptions {
  readonly timings?: Partial<HomeTimings>;
  readonly url?: string;
  readonly gone?: (url: string) => void;
  readonly clock?: Clock;
}

export function openHomes(
  database: Database,
  { timings, url, gone, clock = systemClock }: OpenOptions = {},
): OpenedHomes {
  replicas += 1;
  const id = `replica-${replicas}-${systemRandomness.uuid().slice(0, 8)}`;
  const listener = new RecordingListener();
  const seen: HomesObservation[] = [];
  const homes = new Homes({
    database,
    replicaId: id,
    url: () => url ?? `http://${id}.test`,
    listener,
    ...(gone && { gone }),
    timings: { ...testTimings, ...timings },
    clock,
    randomness: systemRandomness,
    observe: (observation) => seen.push(observation),
  });
  return {
    id,
    homes,
    listener,
    seen,
    here: () => everyPartition.filter((partition) => homes.locate(partition).kind === 'here'),
    start: () => homes.start(new AbortController().signal),
  };
}
