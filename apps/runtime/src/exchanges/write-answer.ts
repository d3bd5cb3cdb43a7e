import type { CodedError } from '@drover/contracts';
import { toErrorAnswer } from '@drover/http-edge';
import type { HttpAnswer } from '../bindings/http-answer.js';
import type { Exchange } from './exchange.js';

/** Writes a whole answer, with the headers that every answer of the application has. Does nothing once the client has left. */
export function writeAnswer(exchange: Exchange, { status, headers, body }: HttpAnswer): void {
  const { wire, extraHeaders } = exchange;
  if (wire.isOver || wire.hasBegun) return;
  const list = extraHeaders.length === 0 ? headers : withExtra(headers, extraHeaders);
  const hasNone = status === 204 || status === 304;
  wire.answer(status, list, hasNone ? undefined : (body ?? ''));
}

/**
 * Returns the headers of a function and those of every answer; a header of the function replaces one of the same name. A function that
 * decides itself which origins may read its answer decides all of it: half of a permission from either side could be wider than both.
 */
export function withExtra(headers: readonly string[], extra: readonly string[]): string[] {
  const said = new Set(headers.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : '')));
  const ownsCors = said.has('access-control-allow-origin');
  const list = [...headers];
  for (let index = 0; index + 1 < extra.length; index += 2) {
    const name = (extra[index] ?? '').toLowerCase();
    const isOwned = ownsCors ? name.startsWith('access-control-') : false;
    // What an answer varies with adds up.
    if (!isOwned && (name === 'vary' || !said.has(name))) list.push(extra[index] ?? '', extra[index + 1] ?? '');
  }
  return list;
}

export function writeJson(exchange: Exchange, status: number, value: unknown, headers: readonly string[] = []): void {
  const answer = ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store', ...headers];
  writeAnswer(exchange, { status, headers: answer, body: JSON.stringify(value) });
}

/** Writes an error in the one shape that every error answer has. */
export function writeError(
  exchange: Exchange,
  error: CodedError | undefined,
  requestId: string,
  headers: readonly string[] = [],
): void {
  writeAnswer(exchange, toErrorAnswer(error, requestId, { headers }));
}
