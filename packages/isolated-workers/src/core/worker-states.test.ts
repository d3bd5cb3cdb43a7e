import { describe, expect, it } from 'vitest';
import type { WorkerState } from '../types/worker.js';
import { nextWorkerState, workerStates } from './worker-states.js';

describe('the states of a worker', () => {
  const all = Object.keys(workerStates) as WorkerState[];

  it.each(all)('allow exactly the steps of the table from %s', (from) => {
    const reached = all.filter((to) => {
      try {
        return nextWorkerState(from, to) === to;
      } catch {
        return false;
      }
    });
    expect(reached.toSorted()).toEqual(workerStates[from].toSorted());
  });

  it('name both states of a step outside the table', () => {
    expect(() => nextWorkerState('unavailable', 'ready')).toThrow('cannot go from unavailable to ready');
  });
});
