import { seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { continueTrace, toTraceparent } from './trace-context.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentSpanId = 'b7ad6b7169203331';
const continued = (header: string | undefined) => continueTrace(header, seededRandomness(1));

describe('continueTrace', () => {
  it('continues a valid header under a span id of its own', () => {
    const context = continued(`00-${traceId}-${parentSpanId}-01`);
    expect(context).toEqual({ traceId, parentSpanId, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown });
    expect(context.spanId).not.toBe(parentSpanId);
  });

  it.each([
    ['another flag', `00-${traceId}-${parentSpanId}-00`],
    ['a future version', `01-${traceId}-${parentSpanId}-01`],
    ['a future version with more fields', `cc-${traceId}-${parentSpanId}-01-what-the-future-holds`],
  ])('continues %s', (_, header) => {
    expect(continued(header)).toMatchObject({ traceId, parentSpanId });
  });

  it.each([
    ['nothing', undefined],
    ['an empty header', ''],
    ['free text', 'hello'],
    ['upper case', `00-${traceId.toUpperCase()}-${parentSpanId}-01`],
    ['a short trace id', `00-${traceId.slice(1)}-${parentSpanId}-01`],
    ['a short span id', `00-${traceId}-${parentSpanId.slice(1)}-01`],
    ['no flags', `00-${traceId}-${parentSpanId}`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${parentSpanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['the version that is none', `ff-${traceId}-${parentSpanId}-01`],
    ['more fields than version 00 has', `00-${traceId}-${parentSpanId}-01-more`],
    ['a future version with something glued on', `01-${traceId}-${parentSpanId}-01x`],
    ['a second line', `00-${traceId}-${parentSpanId}-01\nx`],
    ['a newline at the end', `00-${traceId}-${parentSpanId}-01\n`],
  ])('begins a new trace for %s', (_, header) => {
    const context = continued(header);
    expect(context).toEqual({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
    });
    expect(context.traceId).not.toBe(traceId);
  });
});

describe('toTraceparent', () => {
  it('hands on the trace with this span as the parent of the next', () => {
    const here = continued(undefined);
    const there = continueTrace(toTraceparent(here), seededRandomness(2));
    expect(there).toMatchObject({ traceId: here.traceId, parentSpanId: here.spanId });
  });
});
