import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import { CollectionChanges } from '../store/collection-changes.js';
import { SchemaChangeRunner } from '../store/schema-change-runner.js';

/** A process that carries out changes of collections until it is killed. */
const url = new Secret(process.env['DATABASE_URL'] ?? '');
const database = new Database({ url, applicationName: 'schema changes', poolSize: 4, ...quietIo });
const changes = new CollectionChanges({ database, bus: { publish: () => Promise.resolve() }, cleanupDelayMs: 8_000 });
const runner = new SchemaChangeRunner({
  database,
  sessions: database,
  changes,
  ...quietIo,
  observe: (observation) => void process.stdout.write(`${JSON.stringify(observation)}\n`),
  pollMs: 50,
});
await runner.start();
process.stdout.write('ready\n');
