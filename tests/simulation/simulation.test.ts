import { describe, expect, it } from 'vitest';
import { runAssignments } from './run-assignments.js';
import { runAssignmentSeeds } from './run-seeds.js';

/** The story beside this test runs many more, and plants defects. */
const count = 12;

describe('assignments, workers and routes under faults', () => {
  it('hold all invariants', async () => {
    expect(await runAssignmentSeeds({ count })).toBeGreaterThan(count * 10);
  });

  it('replay from their seed', async () => {
    const [first, again, other] = [await runAssignments(3), await runAssignments(3), await runAssignments(4)];
    expect(again).toEqual(first);
    expect(other.hash).not.toBe(first.hash);
  });

  it('print the seed of a violation, and how to replay it', async () => {
    const faults = new Set(['stale workers stay READY' as const]);
    await expect(runAssignmentSeeds({ count, faults })).rejects.toThrow(
      /^seed \d+: [^]*DROVER_SIMULATION_SEED=\d+ \(hash [0-9a-f]{8}\)[^]*route \d+ of c-\d+/,
    );
  });
});
