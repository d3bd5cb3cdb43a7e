import { describe, expect, it } from 'vitest';
import { catalogueToMarkdown, errorCatalogue } from './catalogue.js';
import { CodedError, defineError, hasCode } from './define-error.js';

const workerLost = defineError<{ workerId: string }>('TEST_WORKER_LOST', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `worker ${d.workerId} left`,
  help: 'Wait.',
});

describe('defineError', () => {
  it('makes errors that carry code, traits, details and cause', () => {
    const cause = new Error('pipe closed');
    const error = workerLost({ workerId: 'w1' }, cause);
    expect(error).toBeInstanceOf(CodedError);
    expect(error).toMatchObject({
      code: 'TEST_WORKER_LOST',
      message: 'worker w1 left',
      fault: 'platform',
      retryable: true,
      status: 503,
      details: { workerId: 'w1' },
      cause,
    });
  });

  it('is recognised by code after it crossed a process border', () => {
    const copy: unknown = JSON.parse(JSON.stringify({ code: workerLost({ workerId: 'w1' }).code }));
    expect(hasCode(copy, 'TEST_WORKER_LOST')).toBe(true);
    expect(hasCode(copy, 'OTHER')).toBe(false);
    expect(hasCode(null, 'TEST_WORKER_LOST')).toBe(false);
    expect(hasCode('TEST_WORKER_LOST', 'TEST_WORKER_LOST')).toBe(false);
  });
});

describe('errorCatalogue', () => {
  it('refuses one code with two meanings', () => {
    expect(() => errorCatalogue([{ workerLost }, { again: workerLost }])).toThrow('TEST_WORKER_LOST is defined twice');
  });

  it('prints one row an error', () => {
    expect(catalogueToMarkdown(errorCatalogue([{ workerLost }]))).toContain(
      '| `TEST_WORKER_LOST` | 503 | platform | yes | Wait. |',
    );
  });
});
