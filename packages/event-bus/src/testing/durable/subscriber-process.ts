import { runChildProgram } from './child-program.js';
import { ledgerEntries, recordHandled } from './ledger.js';

/** Often enough for the test to see which process delivers, without slowing it down. */
const sayEveryMs = 20;

await runChildProgram(async ({ bus, database }) => {
  let saidAtMs = 0;
  await bus.subscribe({
    topics: [ledgerEntries],
    name: 'ledger reader',
    from: 0,
    async handle(event) {
      await recordHandled(database, event, String(process.pid));
      if (Date.now() - saidAtMs < sayEveryMs) return;
      saidAtMs = Date.now();
      process.stdout.write(`handled ${saidAtMs}\n`);
    },
  });
});
