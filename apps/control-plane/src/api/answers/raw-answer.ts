import type { ExecutionMode } from '@drover/contracts';
import type { CallAnswer } from '../../executions/call-results.js';
import { resultEvicted, waitOver } from '../../executions/errors.js';
import { toRaw } from '../../executions/raw-output.js';
import { httpStatusOf } from './envelope.js';
import type { Exchange } from '../exchange/exchange.js';
import { refuse } from './refuse.js';

/** Answers with the bare output, as OpenFaaS does. */
export function answerRaw(exchange: Exchange, answer: CallAnswer, mode: ExecutionMode): void {
  if (answer.kind === 'refused') return refuse(exchange, answer.refusal);
  if (answer.kind === 'evicted') return refuse(exchange, { error: resultEvicted(answer) });
  if (answer.kind === 'overdue') return refuse(exchange, { error: waitOver(answer) });
  const { accepted, outcome } = answer;
  const headers = ['x-call-id', accepted.executionId, 'x-execution-id', accepted.executionId];
  headers.push('x-duration-seconds', ((outcome.finishedAt - accepted.acceptedAt) / 1_000).toFixed(6));
  if (outcome.status !== 'success' || !outcome.output) {
    const { code, message } = outcome.error ?? { code: 'EXECUTION_FAILED', message: 'The execution failed.' };
    const body = JSON.stringify({ error: code, message, requestId: exchange.requestId });
    return exchange.answer(httpStatusOf(outcome, mode), body, headers);
  }
  const { body, contentType } = toRaw(outcome.output);
  const { 'content-type': chosen, ...others } = outcome.headers ?? {};
  for (const [name, value] of Object.entries(others))
    if (name.startsWith('x-') && !ours.has(name)) headers.push(name, value);
  const { statusCode = 200 } = outcome;
  exchange.answerAs(statusCode < 200 ? 200 : statusCode, body, chosen ?? contentType, headers);
}

/** Set by the platform; a handler's header of the same name is dropped. */
const ours = new Set(['x-call-id', 'x-content-type-options', 'x-duration-seconds', 'x-execution-id', 'x-request-id']);
