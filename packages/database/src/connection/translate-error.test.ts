import { describe, expect, it } from 'vitest';
import { translateError } from './translate-error.js';

describe('translateError', () => {
  it.each(['ECONNREFUSED', 'ENOENT', 'EAGAIN'])('takes %s of a connection for an absent server', (code) => {
    const error = Object.assign(new Error(`connect ${code} /run/.s.PGSQL.5432`), { code, syscall: 'connect' });
    expect(translateError(error, '/run')).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      status: 503,
      retryable: true,
      cause: error,
    });
  });

  it('returns errors that are not of the connection as they are', () => {
    const error = new TypeError('x is not a function');
    expect(translateError(error, '/run')).toBe(error);
  });
});
