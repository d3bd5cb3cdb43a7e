import { expect } from 'vitest';
import type { Answer } from './raw-http.js';

declare module 'vitest' {
  interface Matchers<T> {
    /** An answer with this status and code in the one shape of every error, and nothing beside it. */
    toBeRefusedWith(status: number, code: string): T;
  }
}

expect.extend({
  toBeRefusedWith(answer: Answer, status: number, code: string) {
    const { headers, body } = answer;
    const found = {
      status: answer.status,
      contentType: headers.get('content-type'),
      sniffing: headers.get('x-content-type-options'),
      body,
    };
    const requestId = headers.get('x-request-id');
    const expected = {
      status,
      contentType: 'application/json; charset=utf-8',
      sniffing: 'nosniff',
      body: {
        error: code,
        message: expect.stringMatching(/./),
        requestId: requestId ?? 'the one of the header',
        ...(hasDetails(body) && {
          details: expect.arrayContaining([{ path: expect.any(String), message: expect.any(String) }]),
        }),
      },
    };
    return {
      pass: this.equals(found, expected),
      message: () => `expected a refusal with ${status} ${code}`,
      actual: found,
      expected,
    };
  },
});

function hasDetails(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'details' in body;
}
