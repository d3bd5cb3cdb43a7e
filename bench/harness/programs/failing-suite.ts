import { rm } from 'node:fs/promises';
import { measureRounds } from '../rounds.js';
import { runSuite } from '../run-suite.js';

/** A suite that measures two rounds and then fails while it cleans up, with a timer that would keep its process. */
await runSuite({
  name: 'failing',
  quick: { rounds: 1 },
  thorough: { rounds: 2 },
  async measure({ rounds }, run) {
    setInterval(() => undefined, 1_000);
    const contenders = [{ name: 'counted', run: (round: number) => Promise.resolve(round + 1) }];
    const figures = ([counted = []]: readonly (readonly number[])[]) => [
      { what: 'rounds', value: counted.length, unit: '' },
    ];
    try {
      return await measureRounds({ contenders, figures }, rounds, run);
    } finally {
      await rm(import.meta.dirname); // refused: not recursive
    }
  },
});
