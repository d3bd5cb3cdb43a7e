import { Database } from '@drover/database';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { PostgresExecutionStore } from '../postgres/postgres-execution-store.js';
import { contractLimits } from './execution-store-contract-limits.js';
import { acceptedCallAt, outcomeAt } from './sample-executions.js';

/**
 * A process that accepts and ends executions as fast as it can, until it is killed. It says what it has been promised, a
 * line each: `accepted <id>`, `noted <id>`, `finished <id>`. Takes the address of the database and the token of its homes.
 */
const [url = '', token = '1', first = '0'] = process.argv.slice(2);
const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
const database = new Database({ url: new Secret(url), applicationName: 'victim', ...io });
const store = new PostgresExecutionStore({
  database,
  fencingTokens: { tokenOf: () => Number(token) },
  ...contractLimits,
  ...io,
});
const say = (what: string, executionId: string): void => void process.stdout.write(`${what} ${executionId}\n`);

await store.start();
const { unfinished } = await store.recover(Array.from({ length: 16 }, (_, partition) => partition));
say('recovered', String(unfinished.length));
let made = Number(first);
for (const { accepted, attempts } of unfinished) say('again', `${accepted.executionId} ${attempts}`);

async function work(): Promise<void> {
  for (;;) {
    made += 1;
    const mine = made;
    const accepted = acceptedCallAt(Date.now(), { partition: mine % 16, json: `{"n":${mine}}` });
    await store.accept([accepted]);
    say('accepted', accepted.executionId);
    if (mine % 7 === 0) {
      await store.recordRetry(accepted, [], 1);
      say('noted', accepted.executionId);
    }
    // Some stay unfinished, as those do that wait for their time.
    if (mine % 5 === 0) continue;
    await store.finish(accepted, outcomeAt(Date.now(), { attempts: 1 }));
    say('finished', accepted.executionId);
  }
}
await Promise.all(Array.from({ length: 100 }, work));
