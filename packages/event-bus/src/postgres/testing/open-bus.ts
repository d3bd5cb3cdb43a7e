import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import type { OpenedBus } from '../../testing/durable/ledger.js';
import { PostgresEventBus } from '../postgres-event-bus.js';

/** Opens the bus of a child process of the durable contract; `url` names the database. */
export async function openBus(url: string): Promise<OpenedBus> {
  const { clock, randomness } = quietIo;
  const database = new Database({ url: new Secret(url), applicationName: 'test child', ...quietIo });
  const bus = new PostgresEventBus({ database, clock, randomness, observe: () => undefined });
  try {
    await database.start();
    await bus.start(new AbortController().signal);
    return { bus, database };
  } catch (error) {
    await bus.stop();
    await database.stop();
    throw error;
  }
}
