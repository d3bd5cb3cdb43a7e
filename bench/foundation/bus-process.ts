import { defineTopic } from '@drover/contracts';
import { Database } from '@drover/database';
import { PostgresEventBus } from '@drover/event-bus';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';

export const benchTopic = defineTopic('bench.events', {
  about: 'Events that know when they were published',
  schema: {},
});

export interface BenchPayload {
  readonly run: number;
  readonly calledAtMs: number;
}

/** A bus as a process of the platform has it. */
export async function openBus(url: string): Promise<PostgresEventBus> {
  const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
  const database = new Database({ url: new Secret(url), applicationName: 'bench', ...io });
  const bus = new PostgresEventBus({ database, ...io });
  await bus.start(new AbortController().signal);
  return bus;
}
