import { describe, expect, it } from 'vitest';
import { plantedBugs } from './testing/planted-bugs.js';
import { runSeeds } from './testing/run-seeds.js';

/** About half a minute on one core. DROVER_SIMULATION_SEEDS runs more. */
const seeds = 600;
/** A planted bug must show within so many seeds. */
const patience = 300;

describe('the simulation of scale decisions and placement', () => {
  it('holds all invariants over many seeds', () => {
    const result = runSeeds(seeds);
    expect(result.served).toBeGreaterThan(result.seeds * 10);
  });

  it.each(Object.entries(plantedBugs))('finds the planted bug: %s', (_, bug) => {
    expect(() => runSeeds(patience, bug)).toThrow(/^seed \d+: /);
  });
});
