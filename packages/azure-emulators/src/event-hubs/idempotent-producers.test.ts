import { describe, expect, it } from 'vitest';
import { IdempotentProducers } from './idempotent-producers.js';

describe('IdempotentProducers', () => {
  it('appends the next batch, drops a repeated one and refuses a gap', () => {
    const producers = new IdempotentProducers();
    const state = producers.open(undefined, undefined, undefined);
    expect(state).toEqual({ id: 1, epoch: 0, lastSequence: 0 });
    const first = producers.decide(1, 0, 1, 3);
    expect(first).toEqual({ kind: 'append', state: { id: 1, epoch: 0, lastSequence: 3 } });
    producers.restore({ id: 1, epoch: 0, lastSequence: 3 });
    expect(producers.decide(1, 0, 1, 3).kind).toBe('duplicate');
    expect(producers.decide(1, 0, 2, 2).kind).toBe('duplicate');
    expect(producers.decide(1, 0, 3, 2)).toMatchObject({ kind: 'refused' });
    expect(producers.decide(1, 0, 6, 1)).toMatchObject({
      kind: 'refused',
      error: { condition: 'com.microsoft:out-of-order-sequence' },
    });
    expect(producers.decide(1, 0, 4, 1).kind).toBe('append');
  });

  it('repeats the sequence number of a client that reconnects, so that its retry is recognised', () => {
    const producers = new IdempotentProducers();
    producers.open(undefined, undefined, undefined);
    producers.restore({ id: 1, epoch: 0, lastSequence: 5 }); // stored, but the answer was lost
    expect(producers.open(1, 0, 2)).toEqual({ id: 1, epoch: 0, lastSequence: 2 });
    expect(producers.decide(1, 0, 3, 3).kind).toBe('duplicate');
  });

  it('fences a producer with an older epoch, and continues over the wrap of the numbers', () => {
    const producers = new IdempotentProducers();
    producers.open(9, 2, 0x7fff_ffff);
    expect(producers.open(9, 1, 0)).toMatchObject({ condition: 'com.microsoft:producer-epoch-stolen' });
    expect(producers.decide(9, 1, 1, 1)).toMatchObject({ error: { condition: 'com.microsoft:producer-epoch-stolen' } });
    expect(producers.decide(9, 2, -0x8000_0000, 1).kind).toBe('append');
    expect(producers.open(undefined, undefined, undefined)).toMatchObject({ id: 10 });
  });
});
