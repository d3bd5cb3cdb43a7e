import { describe, expect, it } from 'vitest';
import { hasCode } from '../errors/define-error.js';
import { defineStates, statesToMermaid } from './define-states.js';

const lamp = defineStates('lamp', { off: ['on'], on: ['off', 'burnt-out'], 'burnt-out': [] });

describe('defineStates', () => {
  it('allows exactly the moves of the table', () => {
    for (const from of lamp.all) {
      for (const to of lamp.all) {
        const machine = lamp.start(from);
        const attempt = (): void => machine.move(to);
        if (lamp.table[from].includes(to)) {
          attempt();
          expect(machine.current).toBe(to);
        } else {
          expect(attempt).toThrow(`lamp cannot go from ${from} to ${to}`);
          expect(machine.current).toBe(from);
        }
      }
    }
  });

  it('reports each change once, after it was made', () => {
    const seen: string[] = [];
    const machine = lamp.start('off', ({ from, to }) => seen.push(`${from}>${to} in ${machine.current}`));
    machine.move('on');
    expect(() => machine.move('on')).toThrow();
    machine.move('burnt-out');
    expect(seen).toEqual(['off>on in on', 'on>burnt-out in burnt-out']);
    expect(lamp.isFinal(machine.current)).toBe(true);
  });

  it('throws a coded error on an illegal move', () => {
    try {
      lamp.start('burnt-out').move('on');
      expect.unreachable();
    } catch (error) {
      expect(hasCode(error, 'ILLEGAL_TRANSITION')).toBe(true);
    }
  });

  it('draws itself', () => {
    expect(statesToMermaid(lamp)).toBe(
      [
        'stateDiagram-v2',
        '  state "burnt-out" as burnt_out',
        '  [*] --> off',
        '  off --> on',
        '  on --> off',
        '  on --> burnt_out',
        '  burnt_out --> [*]',
      ].join('\n'),
    );
  });
});
