import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobMetadata } from './job-labels.js';

const toLabel = (functionName: string): string | undefined =>
  jobMetadata({ functionName, executionId: 'e' }, 1).labels['function'];

const label = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

describe('marks of a job', () => {
  it('name function, execution and attempt, and what the caller sent', () => {
    const executionId = '0190a6a5-7a7b-7c7d-8e8f-0123456789ab';
    expect(jobMetadata({ functionName: 'orders', executionId, traceId: 't-1', idempotencyKey: 'k 1' }, 3)).toEqual({
      labels: { function: 'orders', executionId, attempt: '3' },
      annotations: { traceId: 't-1', idempotencyKey: 'k 1' },
    });
    expect(jobMetadata({ functionName: 'orders', executionId }, 1).annotations).toEqual({});
  });

  it('fit into labels whatever the text, and differ where the texts do', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), fc.string({ maxLength: 300 }), (one, other) => {
        for (const text of [one, other]) {
          expect(toLabel(text)).toMatch(label);
          expect(toLabel(text)?.length).toBeLessThanOrEqual(63);
          expect(toLabel(text)?.length).toBeGreaterThan(0);
        }
        expect(toLabel(one) === toLabel(other)).toBe(one === other);
      }),
    );
  });

  it.each(['ends-with-', 'ends.', 'a_'])('%s is a name of a function, and no label', (name) => {
    expect(toLabel(name)).toMatch(label);
    expect(toLabel(name)).not.toBe(toLabel(name.slice(0, -1)));
  });

  it.each(['x'.repeat(256), 'line\nbreak', 'ümlaut', '', '\u001b[31m'])('%j is annotated by its hash', (key) => {
    const { annotations } = jobMetadata({ functionName: 'f', executionId: 'e', idempotencyKey: key }, 1);
    expect(annotations['idempotencyKey']).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});
