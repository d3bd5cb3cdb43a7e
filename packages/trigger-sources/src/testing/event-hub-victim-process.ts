import type { Settlement } from '../trigger-source.js';
import { EventHubBench, type EventHubBenchOptions } from './event-hub-bench.js';

process.once('disconnect', () => process.exit());
const bench = new EventHubBench(JSON.parse(process.argv[2] ?? '') as EventHubBenchOptions); // from startEventHubVictim
const listener = bench.listener(({ data }) => {
  process.stdout.write(`got ${String(data)}\n`);
  return new Promise<Settlement>(() => undefined);
});
await listener.start(new AbortController().signal);
process.stdout.write('listening\n');
