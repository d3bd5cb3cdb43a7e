import { describe, expect, it } from 'vitest';
import { plantedBugs } from './testing/planted-bugs.js';
import { runSimulation } from './testing/run-simulation.js';
import { runSeeds } from './testing/run-seeds.js';

/** The story beside this test runs many more. */
const seeds = 6;

describe('scale decisions and placement under faults', () => {
  it('hold all invariants', () => {
    expect(runSeeds(seeds).served).toBeGreaterThan(seeds * 10);
  });

  it('replay from their seed', () => {
    const [first, again, other] = [runSimulation(42), runSimulation(42), runSimulation(43)];
    expect(again).toEqual(first);
    expect(other.hash).not.toBe(first.hash);
  });

  it('print the seed of a violation, and how to replay it', () => {
    const bug = plantedBugs['the maximum of an application is ignored'];
    expect(() => runSeeds(seeds, bug)).toThrow(
      /at most[^]*DROVER_SIMULATION_SEED=\d+[^]*hash [0-9a-f]{8}[^]*controller-\d is elected/,
    );
  });
});
