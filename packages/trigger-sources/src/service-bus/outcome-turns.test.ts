import { afterEach, describe, expect, it } from 'vitest';
import { OutcomeTurns } from './outcome-turns.js';

/** Counts turns of the event loop. It is scheduled first in each turn, before what the turn is about. */
class TurnCounter {
  turn = 0;
  #next: NodeJS.Immediate;

  constructor() {
    const count = (): void => {
      this.turn += 1;
      this.#next = setImmediate(count);
    };
    this.#next = setImmediate(count);
  }

  stop(): void {
    clearImmediate(this.#next);
  }
}

describe('turns of outcomes', () => {
  let counter: TurnCounter | undefined;
  afterEach(() => counter?.stop());

  it('let equal outcomes go together', async () => {
    const turns = new OutcomeTurns();
    const turnCounter = (counter = new TurnCounter());
    const at = await Promise.all(
      ['complete', 'complete'].map((outcome) => turns.take(outcome).then(() => turnCounter.turn)),
    );
    expect(at[0]).toBe(at[1]);
  });

  it('never let two outcomes go in one turn, and lose none', async () => {
    const turns = new OutcomeTurns();
    const turnCounter = (counter = new TurnCounter());
    const sent: (readonly [turn: number, outcome: string])[] = [];
    const send = async (outcome: string): Promise<void> => {
      await turns.take(outcome);
      sent.push([turnCounter.turn, outcome]);
    };
    const outcomes = ['complete', 'abandon', 'complete', 'abandon', 'rejected: a', 'rejected: b'];
    await Promise.all(outcomes.map(send));
    await Promise.all(outcomes.toReversed().map(send));
    expect(sent.map(([, outcome]) => outcome).toSorted()).toEqual([...outcomes, ...outcomes].toSorted());
    const byTurn = new Map<number, typeof sent>();
    for (const entry of sent) byTurn.set(entry[0], [...(byTurn.get(entry[0]) ?? []), entry]);
    for (const together of byTurn.values()) expect(new Set(together.map(([, outcome]) => outcome)).size).toBe(1);
  });
});
