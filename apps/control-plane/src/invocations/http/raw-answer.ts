import type { ExecutionMode } from '@drover/contracts';
import type { Answer } from '../engine/live-execution.js';
import type { Payload } from '../invocation.js';
import { resultEvicted, waitOver } from '../errors.js';
import { httpStatusOf } from './envelope.js';
import type { Exchange } from './exchange.js';
import { refuse } from './refuse.js';

/** The output as it is, in the manner of OpenFaaS. */
export function answerRaw(exchange: Exchange, answer: Answer, mode: ExecutionMode): void {
  if (answer.kind === 'refused') return refuse(exchange, answer.refusal);
  if (answer.kind === 'evicted') return refuse(exchange, { error: resultEvicted(answer) });
  if (answer.kind === 'overdue') return refuse(exchange, { error: waitOver(answer) });
  const { invocation, outcome } = answer;
  const headers = ['x-call-id', invocation.executionId, 'x-execution-id', invocation.executionId];
  headers.push('x-duration-seconds', ((outcome.finishedAt - invocation.acceptedAt) / 1_000).toFixed(6));
  if (outcome.status !== 'success' || !outcome.output) {
    const { code, message } = outcome.error ?? { code: 'EXECUTION_FAILED', message: 'it failed' };
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

/** Said by us already; twice would be said to nobody. */
const ours = new Set(['x-call-id', 'x-content-type-options', 'x-duration-seconds', 'x-execution-id', 'x-request-id']);

/** A string is text, bytes are bytes, everything else is the JSON it is. */
export function toRaw({ json, encoding }: Payload): { readonly body: string | Buffer; readonly contentType: string } {
  if (!json.startsWith('"')) return { body: json, contentType: 'application/json; charset=utf-8' };
  const text = JSON.parse(json) as string; // it begins like a string, and it was checked
  return encoding === 'base64'
    ? { body: Buffer.from(text, 'base64'), contentType: 'application/octet-stream' }
    : { body: text, contentType: 'text/plain; charset=utf-8' };
}
