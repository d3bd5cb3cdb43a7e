import { Database } from '@drover/database';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { PostgresExecutionStore } from '../postgres/postgres-execution-store.js';
import { acceptedCallAt, contractLimits, outcomeAt } from './sample-executions.js';

/**
 * A process that accepts and finishes executions as fast as it can, until it is killed. It prints one line for each promise that the
 * store made: `accepted <id>`, `retried <id>`, `finished <id>`, and after the start `recovered <count>` and `again <id> <attempts>`.
 * Arguments: the URL of the database, the fencing token of all partitions, the first number of its executions.
 */
const [url = '', token = '1', first = '0'] = process.argv.slice(2);
const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
const database = new Database({ url: new Secret(url), applicationName: 'victim', ...io });
const store = new PostgresExecutionStore({
  database,
  fencingTokens: { tokenOf: () => Number(token), heldTokenOf: () => Number(token) },
  ...contractLimits,
  ...io,
});
const print = (what: string, executionId: string): void => void process.stdout.write(`${what} ${executionId}\n`);

await store.start();
const { unfinished } = await store.recover(Array.from({ length: 16 }, (_, partition) => partition));
print('recovered', String(unfinished.length));
let created = Number(first);
for (const { accepted, attempts } of unfinished) print('again', `${accepted.executionId} ${attempts}`);

async function work(): Promise<void> {
  for (;;) {
    created += 1;
    const mine = created;
    const accepted = acceptedCallAt(Date.now(), { partition: mine % 16, json: `{"n":${mine}}` });
    await store.accept([accepted]);
    print('accepted', accepted.executionId);
    if (mine % 7 === 0) {
      await store.recordRetry(accepted, [], 1);
      print('retried', accepted.executionId);
    }
    // Some stay unfinished, like executions that are scheduled for later.
    if (mine % 5 === 0) continue;
    await store.finish(accepted, outcomeAt(Date.now(), { attempts: 1 }));
    print('finished', accepted.executionId);
  }
}
await Promise.all(Array.from({ length: 100 }, work));
