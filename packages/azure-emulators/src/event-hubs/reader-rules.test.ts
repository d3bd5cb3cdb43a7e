import { describe, expect, it } from 'vitest';
import { decideReader } from './reader-rules.js';

const level = (ownerLevel: number | undefined): { ownerLevel: number | undefined } => ({ ownerLevel });

describe('decideReader', () => {
  it('lets five readers without owner level share a partition, and refuses the sixth', () => {
    const four = [level(undefined), level(undefined), level(undefined), level(undefined)];
    expect(decideReader(four, undefined, 'h/0')).toEqual({ disconnected: [] });
    const sixth = decideReader([...four, level(undefined)], undefined, 'h/0');
    expect(sixth).toMatchObject({ refused: { condition: 'amqp:resource-limit-exceeded' } });
  });

  it('gives the partition to an equal or higher owner level and disconnects everything else', () => {
    for (const present of [[level(1)], [level(2)], [level(undefined), level(undefined)]]) {
      const decision = decideReader(present, 2, 'h/0');
      expect(decision).toMatchObject({ disconnected: present.map((reader) => ({ reader })) });
    }
  });

  it('refuses a lower owner level, and none at all while an owner reads', () => {
    expect(decideReader([level(3)], 2, 'h/0')).toMatchObject({ refused: { condition: 'amqp:link:stolen' } });
    expect(decideReader([level(0)], undefined, 'h/0')).toMatchObject({ refused: { condition: 'amqp:link:stolen' } });
  });
});
