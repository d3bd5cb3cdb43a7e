import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advanceFrontier, needsHorizon, type EventFrontier } from './event-frontier.js';

const at = (position: number, gap?: EventFrontier['gap']): EventFrontier => ({ position, gap });

describe('the frontier of record events', () => {
  it('advances over ids without a gap', () => {
    expect(advanceFrontier(at(4), { ids: [5, 6, 7], oldestTransaction: 1 })).toEqual(at(7));
    expect(advanceFrontier(at(4), { ids: [], oldestTransaction: 1 })).toEqual(at(4));
  });

  it('stops before a missing id, and asks for a horizon when the gap is seen again', () => {
    const first = advanceFrontier(at(4), { ids: [5, 7, 8], oldestTransaction: 100 });
    expect(first).toEqual(at(5, { upTo: 8, horizon: undefined }));
    expect(needsHorizon(at(4), first)).toBe(false);
    const second = advanceFrontier(first, { ids: [7, 8, 9], oldestTransaction: 101 });
    expect(second).toEqual(first);
    expect(needsHorizon(first, second)).toBe(true);
  });

  it('continues when the missing id appears', () => {
    const waiting = at(5, { upTo: 8, horizon: 110 });
    expect(advanceFrontier(waiting, { ids: [6, 7, 8, 9], oldestTransaction: 90 })).toEqual(at(9));
  });

  it('passes a missing id when all transactions below the horizon have ended, and no later gap with it', () => {
    const waiting = at(5, { upTo: 8, horizon: 110 });
    expect(advanceFrontier(waiting, { ids: [7, 8, 10], oldestTransaction: 109 })).toEqual(waiting);
    const after = advanceFrontier(waiting, { ids: [7, 8, 10], oldestTransaction: 110 });
    expect(after).toEqual(at(8, { upTo: 10, horizon: undefined }));
  });

  it('passes every event that commits exactly once, in any order of transactions, commits and reads', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 200 }), (choices) => {
        const { passed, committed } = replay(choices);
        expect(passed).toEqual(committed);
      }),
    );
  });
});

interface Writer {
  readonly xid: number;
  id?: number;
}

/** Replays begin, take an id, commit, roll back and read, as the choices say, with the rules of PostgreSQL for snapshots. */
function replay(choices: readonly number[]): {
  readonly passed: readonly number[];
  readonly committed: readonly number[];
} {
  let nextXid = 100;
  let nextId = 1;
  const inProgress: Writer[] = [];
  const visible = new Set<number>();
  const passed: number[] = [];
  let frontier: EventFrontier = { position: 0, gap: undefined };
  const read = (): void => {
    const ids = [...visible].filter((id) => id > frontier.position).toSorted((a, b) => a - b);
    const oldestTransaction = Math.min(nextXid, ...inProgress.map(({ xid }) => xid));
    const before = frontier;
    frontier = advanceFrontier(before, { ids, oldestTransaction });
    if (frontier.gap && needsHorizon(before, frontier))
      frontier = { ...frontier, gap: { ...frontier.gap, horizon: (nextXid += 1) - 1 } };
    passed.push(...ids.filter((id) => id <= frontier.position));
  };
  for (const choice of choices) {
    const writer = inProgress[choice % Math.max(1, inProgress.length)];
    const action = choice % 5;
    if (action === 0 || !writer) inProgress.push({ xid: (nextXid += 1) - 1 });
    else if (action === 1) writer.id ??= (nextId += 1) - 1;
    else if (action === 4) read();
    else {
      inProgress.splice(inProgress.indexOf(writer), 1);
      if (action === 2 && writer.id !== undefined) visible.add(writer.id);
    }
  }
  inProgress.length = 0;
  for (let n = 0; n < 4 * choices.length + 4; n += 1) read();
  return { passed, committed: [...visible].toSorted((a, b) => a - b) };
}
