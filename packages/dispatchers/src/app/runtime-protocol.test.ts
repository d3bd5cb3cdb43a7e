import { describe, expect, it } from 'vitest';
import { toAttemptResult } from './runtime-protocol.js';

const answer = (status: number, body: string, more: { headBytes?: number; retryAfterMs?: number } = {}) =>
  toAttemptResult({ status, headBytes: 0, retryAfterMs: undefined, body: Buffer.from(body), ...more });

const error = (code: string, message = 'said so') => JSON.stringify({ error: code, message, requestId: 'r' });

describe('an answer of the runtime', () => {
  it('is an output as it is', () => {
    expect(answer(200, '{"a": "ä"}')).toEqual({ kind: 'success', output: { json: '{"a": "ä"}' } });
  });

  it('is an output with what is said before it', () => {
    const head = JSON.stringify({ statusCode: 404, headers: { 'x-own': 'ä' }, encoding: 'base64' });
    expect(answer(200, `${head}"aGk="`, { headBytes: Buffer.byteLength(head) })).toEqual({
      kind: 'success',
      statusCode: 404,
      headers: { 'x-own': 'ä' },
      output: { json: '"aGk="', encoding: 'base64' },
    });
  });

  it('says where its time went: a cold start, or only a wait for a free slot', () => {
    const steps = { queued: 1, decided: 2, process: 0, connect: 0, reload: 6.4, load: 11.9, run: 2 };
    const cold = JSON.stringify({ coldStartMs: steps });
    expect(answer(200, `${cold}1`, { headBytes: cold.length })).toEqual({
      kind: 'success',
      output: { json: '1' },
      coldStart: true,
      initDurationMs: 20,
      coldStartMs: steps,
    });
    const queued = { queued: 9, decided: 0, process: 0, connect: 0, reload: 0, load: 0, run: 2 };
    const head = JSON.stringify({ statusCode: 200, coldStartMs: queued });
    expect(answer(200, `${head}1`, { headBytes: head.length })).toEqual({
      kind: 'success',
      output: { json: '1' },
      statusCode: 200,
      coldStartMs: queued,
    });
  });

  it.each([600, 999, 199])('with the status %d, which no caller understands, is a failure', (statusCode) => {
    const head = JSON.stringify({ statusCode });
    expect(answer(200, `${head}1`, { headBytes: head.length })).toMatchObject({
      kind: 'failed',
      code: 'APP_ERROR',
      message: expect.stringContaining(`status ${statusCode}`),
    });
  });

  it.each([
    [500, error('RUNTIME_INVOCATION_FAILED', 'it threw'), 'EXECUTION_FAILED', 'it threw', false],
    [400, error('ADMIN_CALL_REFUSED', 'needs "id"'), 'APP_INPUT_INVALID', 'needs "id"', false],
    [401, error('FUNCTION_KEY_REQUIRED'), 'APP_ERROR', /key of the control plane/, false],
    [404, error('FUNCTION_NOT_FOUND'), 'APP_FUNCTION_MISSING', /no enabled function/, true],
    [404, error('APPLICATION_NOT_FOUND'), 'APP_UNAVAILABLE', /not served/, true],
    [413, error('FUNCTION_BODY_TOO_LARGE'), 'APP_INPUT_INVALID', /larger/, false],
    [429, error('RUNTIME_SATURATED'), 'APP_OVERLOADED', /too many calls/, true],
    [500, error('RUNTIME_OUTPUT_FAILED', 'output "o"'), 'APP_ERROR', 'output "o"', true],
    [500, error('RUNTIME_OUTPUT_REFUSED', 'output "o"'), 'EXECUTION_FAILED', 'output "o"', false],
    [502, error('FUNCTION_STREAM_FAILED'), 'APP_ERROR', /broke off/, true],
    [503, error('RUNTIME_WORKER_LOST', 'no module'), 'APP_UNAVAILABLE', /worker was lost.*: no module$/, true],
    [302, '', 'APP_ERROR', /302/, false],
    [500, '<html>', 'EXECUTION_FAILED', /gave no reason/, false],
    [500, 'null', 'EXECUTION_FAILED', /gave no reason/, false],
  ])('of %d is a failure', (status, body, code, message, transient) => {
    expect(answer(status, body)).toEqual({
      kind: 'failed',
      code,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
      transient,
      ...(/not served/.test(String(message)) && { wasNotTried: true, queuePauseMs: 1_000 }),
      ...(status === 429 && { wasTurnedAway: true }),
      ...(code === 'APP_FUNCTION_MISSING' && {
        wasTurnedAway: true,
        wasNotSent: true,
        retryAfterMs: 1_000,
        queuePauseMs: 1_000,
      }),
    });
  });

  it('says that the function did not take the call, unless the worker that had it was lost', () => {
    for (const code of ['RUNTIME_NO_WORKER', 'FUNCTIONS_SHUTTING_DOWN'])
      expect(answer(503, error(code))).toMatchObject({ transient: true, wasTurnedAway: true });
    expect(answer(503, error('RUNTIME_WORKER_LOST'))).not.toHaveProperty('wasTurnedAway');
  });

  it('says how long to wait, and that it took too long', () => {
    expect(answer(429, error('X'), { retryAfterMs: 2_000 })).toMatchObject({ retryAfterMs: 2_000 });
    expect(answer(504, error('RUNTIME_INVOCATION_TIMED_OUT'))).toEqual({
      kind: 'timeout',
      code: 'APP_TIMEOUT',
      message: 'said so',
    });
  });

  it('that cannot be read is a failure, and one that is a book is cut', () => {
    expect(answer(200, 'garbage', { headBytes: 3 })).toMatchObject({ kind: 'failed', code: 'APP_ERROR' });
    const { message } = answer(500, error('X', 'x'.repeat(100_000))) as { message: string };
    expect(message).toHaveLength(4_096);
  });
});
