import type { AnswerBegin, AnswerSink } from '@drover/http-edge';
import { describe, expect, it } from 'vitest';
import { UnservedPathSink } from './unserved-path.js';

/** What becomes of an answer of the runtime. */
function outcomeOf(status: number, body: string | undefined): string {
  let outcome = 'nothing';
  const sink = {
    answer: ({ status: passed }: AnswerBegin) => {
      outcome = `passed ${passed}`;
    },
  } as unknown as AnswerSink;
  const replacing = new UnservedPathSink(sink, () => {
    outcome = 'replaced';
  });
  replacing.answer({ status } as AnswerBegin, [], body === undefined ? undefined : Buffer.from(body));
  return outcome;
}

describe('UnservedPathSink', () => {
  it.each([
    [404, '{"error":"FUNCTION_NOT_FOUND","message":"No function has a route for GET /api/x."}', 'replaced'],
    [404, '{"error":"APPLICATION_NOT_FOUND"}', 'replaced'],
    [404, '{"error":"no such order"}', 'passed 404'],
    [404, 'null', 'passed 404'],
    [404, 'not found', 'passed 404'],
    [404, undefined, 'passed 404'],
    [404, `{"error":"FUNCTION_NOT_FOUND","more":"${'x'.repeat(5_000)}"}`, 'passed 404'],
    [200, '{"error":"FUNCTION_NOT_FOUND"}', 'passed 200'],
  ])('%i %j is %s', (status, body, outcome) => {
    expect(outcomeOf(status, body)).toBe(outcome);
  });
});
