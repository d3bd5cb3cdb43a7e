import { describe, expect, it } from 'vitest';
import { plantedDefects, withDefect } from './planted-defects.js';
import { runAssignmentSeeds } from './run-seeds.js';
import { sqlFaults } from './sim-tables.js';

/** DROVER_SIMULATION_SEEDS runs more. */
const count = 60;
/** A planted defect must show within so many seeds. */
const patience = 60;

describe('the simulation of assignments, workers and routes', () => {
  it('holds all invariants over many seeds', async () => {
    expect(await runAssignmentSeeds({ count })).toBeGreaterThan(count * 10);
  });

  it.each(sqlFaults)('finds a defect of a statement: %s', async (fault) => {
    await expect(runAssignmentSeeds({ count: patience, faults: new Set([fault]) })).rejects.toThrow(/^seed \d+: /);
  });

  it.each(plantedDefects)('finds a planted defect: $name', async (defect) => {
    await withDefect(defect, async (run) => {
      await expect(runAssignmentSeeds({ count: patience, run })).rejects.toThrow(/^seed \d+: /);
    });
  });
});
