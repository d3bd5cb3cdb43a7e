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
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const { passed, committed } = replay(steps);
        expect(passed).toEqual(committed);
      }),
      { numRuns: 1_000 },
    );
  });

  it('would lose an event if the horizon were that of the snapshot which saw the gap', () => {
    // The younger of two transactions takes the first id, and the older one commits the second: xmax is the id of the younger.
    const first = ['begin', 'begin', 'take 1', 'take 0', 'commit 0', 'read', 'read', 'read', 'commit 0'];
    const steps = first.map((each): Step => {
      const [action, which] = each.split(' ');
      return { action: action as Step['action'], which: Number(which ?? 0) };
    });
    expect(replay(steps)).toEqual({ passed: [1, 2], committed: [1, 2] });
    expect(replay(steps, 'xmax')).toEqual({ passed: [2], committed: [1, 2] });
  });
});

const actions = ['begin', 'take', 'commit', 'roll back', 'read', 'read'] as const;
const step = fc.record({ action: fc.constantFrom(...actions), which: fc.nat(5) });
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Writer {
  readonly xid: number;
  id?: number;
}

/** Replays writers and reads in the given order, with the rules of PostgreSQL for snapshots; at the end all writers are rolled back. */
function replay(
  steps: readonly Step[],
  horizon: 'own transaction' | 'xmax' = 'own transaction',
): { readonly passed: readonly number[]; readonly committed: readonly number[] } {
  let nextXid = 100;
  let lastEnded = 0;
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
      frontier = {
        ...frontier,
        gap: { ...frontier.gap, horizon: horizon === 'xmax' ? lastEnded + 1 : (nextXid += 1) - 1 },
      };
    passed.push(...ids.filter((id) => id <= frontier.position));
  };
  const end = (writer: Writer): void => {
    inProgress.splice(inProgress.indexOf(writer), 1);
    lastEnded = Math.max(lastEnded, writer.xid);
  };
  for (const { action, which } of steps) {
    const writer = inProgress[which % Math.max(1, inProgress.length)];
    if (action === 'read') read();
    else if (action === 'begin' || !writer) inProgress.push({ xid: (nextXid += 1) - 1 });
    else if (action === 'take') writer.id ??= (nextId += 1) - 1;
    else {
      end(writer);
      if (action === 'commit' && writer.id !== undefined) visible.add(writer.id);
    }
  }
  inProgress.length = 0;
  for (let n = 0; n < 4 * steps.length + 4; n += 1) read();
  return { passed, committed: [...visible].toSorted((a, b) => a - b) };
}
