import { ExecutionId } from '@drover/contracts';
import { systemRandomness } from '@drover/service-kit';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { partitionCount, partitionOfExecution } from '@drover/ownership';
import { seededRandomness } from '@drover/testkit';
import { ExecutionIds } from './execution-ids.js';

describe('ExecutionIds', () => {
  it('are UUIDs of version 7 that contain their time and their partition', () => {
    const ids = new ExecutionIds(systemRandomness);
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const id = ids.next(partition, 0x0192_3456_789a);
      expect(Value.Check(ExecutionId, id)).toBe(true);
      expect(id.startsWith('01923456-789a-7')).toBe(true);
      expect(partitionOfExecution(id)).toBe(partition);
    }
  });

  it('grow from one to the next, within a millisecond, over its end and when the clock goes back', () => {
    let now = 1_000_000;
    const ids = new ExecutionIds(seededRandomness(1));
    const made: string[] = [];
    for (let index = 0; index < 20_000; index += 1) {
      if (index % 7_000 === 6_999) now -= 500;
      if (index % 5_000 === 4_999) now += 3;
      made.push(ids.next(index % partitionCount, now));
    }
    expect(made).toEqual(made.toSorted());
    expect(new Set(made).size).toBe(made.length);
  });
});
