import { Database, EmbeddedPostgres } from '@drover/database';
import type { Clock, Leash, Lifecycle, Observe, Randomness, Secret } from '@drover/service-kit';
import type { DataDirectory } from './data-directory.js';
import type { UpConfig } from './config.js';
import type { UpObservation } from './observations.js';

export interface DatabaseServer extends Lifecycle {
  readonly url: Secret;
  /** Pid of the embedded server; undefined for an external one. */
  readonly pid: number | undefined;
}

export interface DatabaseServerIo {
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<UpObservation>;
}

/** Returns the server that `DATABASE_URL` names, else an embedded one. */
export function databaseServer(config: UpConfig, directory: DataDirectory, io: DatabaseServerIo): DatabaseServer {
  if (config.databaseUrl) return externalServer(config.databaseUrl, io);
  const serverUser = config.postgresUser === undefined ? {} : { serverUser: config.postgresUser };
  return new EmbeddedPostgres({ directory: directory.postgres, ...serverUser, ...io });
}

/** Connects once at start, so that a wrong URL is reported before other processes start. Waits for a server that recovers. */
function externalServer(url: Secret, { clock, randomness, observe }: DatabaseServerIo): DatabaseServer {
  return {
    name: 'database',
    url,
    pid: undefined,
    async start(signal) {
      const database = new Database({
        url,
        applicationName: 'drover up',
        poolSize: 1,
        startWaitMs: 0,
        clock,
        randomness,
        observe: (observation) => {
          if (observation.kind === 'database.awaited') observe(observation);
        },
      });
      try {
        await database.start(signal);
      } finally {
        await database.stop();
      }
    },
    drain: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}
