import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Database, databaseMigrations, EmbeddedPostgres, migrate } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Leash } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { durableEventBusContract, type DurableWorld } from '../testing/durable-event-bus-contract.js';
import { eventBusMigrations } from './event-bus-migrations.js';

/** A server of its own, since it is going to be killed. */
async function openWorld(): Promise<DurableWorld> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'drover-test-'));
  await chmod(scratch, 0o711); // the server of a root process runs as another user, which needs access
  const leash = new Leash();
  const server = new EmbeddedPostgres({
    directory: path.join(scratch, 'postgres'),
    leash,
    ...quietIo,
    observe: () => undefined,
  });
  await server.start(new AbortController().signal);
  const database = new Database({ url: server.url, applicationName: 'test', ...quietIo });
  await migrate(database, [databaseMigrations, eventBusMigrations], { release: 'test', ...quietIo });
  return {
    database,
    child: {
      module: pathToFileURL(path.resolve(import.meta.dirname, '../../dist/postgres/testing/open-bus.js')).href,
      argument: server.url.reveal(),
    },
    // It is noted every 250 ms how far a subscriber came, and a successor that dies before it could note anything may leave
    // as much again to the next one; more, since that is time on the subscriber's clock, and a busy server takes a while to note it.
    repeatsWithinMs: 2_000,
    async killBackEnd() {
      const { pid } = server;
      if (pid === undefined) throw new Error('the server does not run');
      process.kill(pid, 'SIGKILL');
      await eventually(() => server.pid !== undefined && server.pid !== pid);
      await eventually(() => database.query('select 1'));
    },
    async close() {
      await database.stop();
      await server.stop();
      await leash.stop();
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

durableEventBusContract('PostgreSQL', openWorld);
