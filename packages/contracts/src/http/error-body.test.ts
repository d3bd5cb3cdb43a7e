import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { defineError, type ErrorTraits } from '../errors/define-error.js';
import { ErrorBody, toErrorBody } from './error-body.js';

const secret = 'postgres://admin:hunter2@10.0.0.7/drover';

function failing(traits: ErrorTraits): { readonly status: number; readonly body: ErrorBody } {
  const make = defineError<{ server: string }>('TEST_FAILED', {
    ...traits,
    message: (d) => `at ${d.server}`,
    help: '',
  });
  return toErrorBody(make({ server: secret }, new Error(`cannot reach ${secret}`)), 'request-1');
}

describe('toErrorBody', () => {
  it('shows callers and customers what they did', () => {
    for (const fault of ['caller', 'customer'] as const) {
      const { status, body } = failing({ fault, retryable: false, status: 409 });
      expect(status).toBe(409);
      expect(body).toEqual({ error: 'TEST_FAILED', message: `at ${secret}`, requestId: 'request-1' });
    }
  });

  it('keeps the inside of a platform fault to the log, whether or not a retry helps', () => {
    for (const retryable of [true, false]) {
      const { status, body } = failing({ fault: 'platform', retryable, status: 503 });
      expect(status).toBe(503);
      expect(body).toMatchObject({ error: 'TEST_FAILED', requestId: 'request-1' });
      expect(JSON.stringify(body)).not.toMatch(/hunter2|10\.0\.0\.7|cannot reach/);
    }
    expect(failing({ fault: 'platform', retryable: true, status: 503 }).body.message).toContain('Try again');
    expect(failing({ fault: 'platform', retryable: false, status: 503 }).body.message).not.toContain('Try again');
  });

  it('names the thing and the next step of a platform fault with the text of the catalogue', () => {
    const full = defineError<{ server: string }>('TEST_FULL', {
      fault: 'platform',
      retryable: true,
      status: 507,
      message: (d) => `at ${d.server}`,
      help: 'The disk of the database is full. Free disk space, or raise `TEST_BYTES`.',
    });
    expect(toErrorBody(full({ server: secret }), 'r').body.message).toBe(
      'The disk of the database is full. Free disk space, or raise TEST_BYTES. Try again after a moment.',
    );
  });

  it('tells the caller what to do about a platform fault, if there is something', () => {
    const { body } = failing({ fault: 'platform', retryable: false, status: 502, advice: 'Read the record.' });
    expect(body.message).toContain(' Read the record. ');
  });

  it.each([
    ['an error', new Error(secret)],
    ['an error with a code of its own', Object.assign(new Error(secret), { code: 'ECONNREFUSED', status: 200 })],
    ['text', secret],
    ['nothing', undefined],
    ['an object that looks coded', { code: 'TEST_FAILED', status: 200, message: secret, fault: 'caller' }],
  ])('says nothing about %s that nobody expected', (_, error) => {
    const { status, body } = toErrorBody(error, 'request-2');
    expect(status).toBe(500);
    expect(body).toMatchObject({ error: 'INTERNAL_ERROR', requestId: 'request-2' });
    expect(JSON.stringify(body)).not.toMatch(/hunter2|ECONNREFUSED/);
  });

  it('has the shape it documents', () => {
    expect(Value.Check(ErrorBody, toErrorBody(new Error('x'), 'r').body)).toBe(true);
    expect(Value.Check(ErrorBody, failing({ fault: 'caller', retryable: false, status: 400 }).body)).toBe(true);
    expect(Value.Check(ErrorBody, { error: 'X', message: 'no request id' })).toBe(false);
  });
});
