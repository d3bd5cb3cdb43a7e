import { defineError } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { toErrorDocument } from './error-document.js';

const callers = defineError<{ field: string; source: object }>('FIELD_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => `The field "${d.field}" does not exist.`,
  help: '',
});
const many = defineError<{ problems: readonly object[] }>('RECORD_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 422,
  message: () => 'The record is not valid.',
  help: '',
});
const platforms = defineError<{ host: string }>('DATABASE_GONE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `cannot reach ${d.host}`,
  help: '',
});

describe('toErrorDocument', () => {
  it('names the part of the request that an error is about', () => {
    const error = callers({ field: 'colour', source: { parameter: 'sort' } });
    expect(toErrorDocument(error, 'r1')).toEqual({
      status: 400,
      errors: [
        {
          status: '400',
          code: 'FIELD_UNKNOWN',
          title: 'Field unknown',
          detail: 'The field "colour" does not exist.',
          source: { parameter: 'sort' },
          meta: { requestId: 'r1' },
        },
      ],
    });
  });

  it('lists every problem of an error that has several', () => {
    const problems = [
      { code: 'maxLength', detail: 'too long', source: { pointer: '/data/attributes/name' } },
      { code: 'unique', detail: 'taken', source: { pointer: '/data/attributes/email' } },
    ];
    const { status, errors } = toErrorDocument(many({ problems }), 'r2');
    expect(status).toBe(422);
    expect(errors.map(({ code, title, source }) => [code, title, source])).toEqual([
      ['maxLength', 'Max length', { pointer: '/data/attributes/name' }],
      ['unique', 'Unique', { pointer: '/data/attributes/email' }],
    ]);
  });

  it('hides the cause of platform faults and of unexpected errors', () => {
    for (const error of [platforms({ host: 'db.internal' }), new Error('secret of db.internal')]) {
      const text = JSON.stringify(toErrorDocument(error, 'r3'));
      expect(text).not.toContain('db.internal');
      expect(text).toContain('r3');
    }
    expect(toErrorDocument(new TypeError('x'), 'r4')).toMatchObject({
      status: 500,
      errors: [{ code: 'INTERNAL_ERROR' }],
    });
  });
});
