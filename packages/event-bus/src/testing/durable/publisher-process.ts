import { systemClock, systemRandomness, BackOff } from '@drover/service-kit';
import { complainOnce, runChildProgram } from './child-program.js';
import { enter, ledgerEntries, ledgerKeys, nextGeneration, type OpenedBus } from './ledger.js';

/** Every so many transactions are rolled back at the end: their events must never be delivered. */
const rollBackEvery = 7;

/** Every so many stay open after they published, so that later transactions overtake them. */
const dawdleEvery = 11;
const dawdleSeconds = 0.03;

class ChangedMind extends Error {}

let transactions = 0;

/** Generation after generation of one key, each in one transaction with its row in the ledger, until something breaks. */
async function publishFrom(first: number, key: string, { bus, database }: OpenedBus): Promise<void> {
  for (let generation = first; ; ) {
    transactions += 1;
    const attempt = `${process.pid}-${transactions}`;
    const dawdles = transactions % dawdleEvery === 0;
    const changesMind = transactions % rollBackEvery === 0;
    try {
      await database.transaction(async (tx) => {
        await enter(tx, { key, generation, attempt });
        await bus.publish([{ topic: ledgerEntries, key, generation, payload: { attempt } }], tx);
        if (dawdles) await tx.query('select pg_sleep($1)', [dawdleSeconds]);
        if (changesMind) throw new ChangedMind();
      });
      generation += 1;
    } catch (error) {
      if (!(error instanceof ChangedMind)) throw error;
    }
  }
}

await runChildProgram(async (opened) => {
  const complain = complainOnce();
  await Promise.all(
    ledgerKeys.map(async (key) => {
      const backOff = new BackOff(
        { firstMs: 20, maxMs: 200, factor: 2 },
        { clock: systemClock, randomness: systemRandomness },
      );
      for (;;) {
        try {
          // A commit whose answer was lost may have happened: only the ledger knows.
          const next = await nextGeneration(opened.database, key);
          backOff.reset();
          await publishFrom(next, key, opened);
        } catch (error) {
          complain(error);
          await backOff.wait();
        }
      }
    }),
  );
});
