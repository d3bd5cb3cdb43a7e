import { describe, expect, it } from 'vitest';
import { parseEventPosition } from './event-position.js';

describe('parseEventPosition', () => {
  it.each([
    ["amqp.annotation.x-opt-offset > '-1'", { kind: 'earliest' }],
    ["amqp.annotation.x-opt-offset > '@latest'", { kind: 'latest' }],
    ["amqp.annotation.x-opt-offset >= '120'", { kind: 'offset', value: 120, isInclusive: true }],
    ["amqp.annotation.x-opt-sequence-number > '7'", { kind: 'sequenceNumber', value: 7, isInclusive: false }],
    ["amqp.annotation.x-opt-enqueued-time > '1700000000000'", { kind: 'enqueuedTime', afterMs: 1_700_000_000_000 }],
    [undefined, { kind: 'earliest' }],
    ["amqp.annotation.x-opt-offset > 'abc'", undefined],
    ['1 = 1', undefined],
  ])('reads %s', (expression, position) => {
    expect(parseEventPosition(expression)).toEqual(position);
  });
});
