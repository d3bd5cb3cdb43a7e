import type { EntityStatus } from '@drover/azure-emulators';
import { describe, expect, it } from 'vitest';
import { renderEntityLines } from './entity-lines.js';
import { LiveBlock } from './live-block.js';

const orders: EntityStatus = {
  service: 'service-bus',
  kind: 'queue',
  name: 'orders',
  depth: 12,
  inFlight: 3,
  scheduled: 0,
  deadLetters: 1,
};

describe('the lines of the entities', () => {
  it('have depth, in flight and dead letters in columns', () => {
    const hub: EntityStatus = { ...orders, service: 'event-hubs', kind: 'event hub', name: 'clicks', scheduled: 2 };
    expect(renderEntityLines([orders, hub], 10)).toEqual([
      '  service-bus  orders                   12 waiting      3 in flight      1 dead',
      '  event-hubs   clicks (event hub)       12 waiting      3 in flight      1 dead  2 scheduled',
    ]);
  });

  it('are as many as fit', () => {
    const many = Array.from({ length: 5 }, (_, index) => ({ ...orders, name: `orders-${index}` }));
    expect(renderEntityLines(many, 3)).toHaveLength(3);
    expect(renderEntityLines(many, 3).at(-1)).toBe('  … and 3 more');
    expect(renderEntityLines([], 3)).toEqual([]);
  });

  it('cannot send commands to the terminal', () => {
    expect(renderEntityLines([{ ...orders, name: 'a\u001b[2Jb\n' }], 3).join('')).not.toMatch(/\p{Cc}/u);
  });
});

describe('LiveBlock', () => {
  it('replaces its lines in place, cut to the width, and keeps them below what else is said', () => {
    const written: string[] = [];
    const block = new LiveBlock((text) => void written.push(text));
    block.show(['one', 'a line that is too long'], 10);
    block.show(['one', 'a line that is too long'], 10);
    block.show(['two'], 10);
    block.say('a warning');
    expect(written).toEqual(['one\na line th\n', '\u001b[2A\r\u001b[Jtwo\n', '\u001b[1A\r\u001b[Ja warning\ntwo\n']);
  });
});
