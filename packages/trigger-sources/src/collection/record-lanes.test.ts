import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordChange } from '../collection-records.js';
import { RecordLanes } from './record-lanes.js';

const change = (position: number, recordId: string): RecordChange => ({
  position,
  recordId,
  kind: 'updated',
  atMs: position,
  json: '{}',
});
const positions = (changes: readonly RecordChange[] | undefined): number[] =>
  (changes ?? []).map((one) => one.position);
const single = { isBatch: false, maxBatchSize: 100 };

describe('the lanes of records', () => {
  it('run changes of different records side by side, and those of one record in turn', () => {
    const lanes = new RecordLanes(single, 0);
    lanes.add([change(1, 'a'), change(2, 'a'), change(3, 'b')], 5);
    const first = lanes.take(8);
    expect([positions(first), positions(lanes.take(8)), lanes.take(8)]).toEqual([[1], [3], undefined]);
    lanes.finish(first ?? []);
    expect(positions(lanes.take(8))).toEqual([2]);
    expect(lanes.reached).toBe(1);
  });

  it('pass nothing that is not finished, and end at what was read', () => {
    const lanes = new RecordLanes(single, 10);
    lanes.add([change(12, 'a'), change(13, 'b')], 20);
    const [first, second] = [lanes.take(8), lanes.take(8)];
    lanes.finish(second ?? []);
    expect(lanes.reached).toBe(11);
    lanes.putBack(first ?? []);
    expect([lanes.reached, lanes.waiting, lanes.running]).toEqual([11, 1, 0]);
    lanes.finish(lanes.take(8) ?? []);
    expect(lanes.reached).toBe(20);
  });

  it('take no more at a time than they may', () => {
    const lanes = new RecordLanes(single, 0);
    lanes.add([change(1, 'a'), change(2, 'b'), change(3, 'c')], 3);
    expect([positions(lanes.take(2)), positions(lanes.take(2)), lanes.take(2)]).toEqual([[1], [2], undefined]);
  });

  it('run one batch at a time, in order', () => {
    const lanes = new RecordLanes({ isBatch: true, maxBatchSize: 2 }, 0);
    lanes.add([change(1, 'a'), change(2, 'a'), change(3, 'b')], 3);
    const batch = lanes.take(8);
    expect([positions(batch), lanes.take(8)]).toEqual([[1, 2], undefined]);
    lanes.finish(batch ?? []);
    expect(positions(lanes.take(8))).toEqual([3]);
  });

  it('run every change, in order per record, whatever finishes or fails first', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(99), { minLength: 1, maxLength: 60, size: 'max' }),
        fc.boolean(),
        (choices, isBatch) => {
          const lanes = new RecordLanes({ isBatch, maxBatchSize: 3 }, 0);
          const done: RecordChange[] = [];
          const running: (readonly RecordChange[])[] = [];
          lanes.add(
            choices.map((choice, index) => change(index + 1, `r${choice % 4}`)),
            choices.length,
          );
          for (let n = 0; lanes.reached < choices.length; n += 1) {
            const choice = choices[n % choices.length] ?? 0;
            const taken = choice % 2 === 0 || running.length === 0 ? lanes.take(3) : undefined;
            if (taken) running.push(taken);
            const [ended] = taken ? [] : running.splice(choice % Math.max(1, running.length), 1);
            if (!ended) continue;
            if (choice % 7 === 0 && n < 500) lanes.putBack(ended);
            else {
              lanes.finish(ended);
              done.push(...ended);
            }
            expect(done.filter(({ position }) => position <= lanes.reached)).toHaveLength(lanes.reached);
          }
          for (const record of ['r0', 'r1', 'r2', 'r3']) {
            const own = positions(done.filter(({ recordId }) => recordId === record));
            expect(own).toEqual(own.toSorted((a, b) => a - b));
          }
        },
      ),
    );
  });
});
