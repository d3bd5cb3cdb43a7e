/** Where a reader starts: the first event for which the comparison holds. */
export type EventPosition =
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'offset' | 'sequenceNumber'; readonly value: number; readonly isInclusive: boolean }
  | { readonly kind: 'enqueuedTime'; readonly afterMs: number };

const selector = /^\s*amqp\.annotation\.x-opt-(offset|sequence-number|enqueued-time)\s*(>=?)\s*'?(@?[\w.-]+)'?\s*$/;

/**
 * Parses the selector an SDK puts into the filter of a receiver, for example `amqp.annotation.x-opt-offset > '-1'`.
 * No selector at all means the earliest event. Returns undefined for a selector of another form.
 */
export function parseEventPosition(expression: unknown): EventPosition | undefined {
  if (expression === undefined || expression === null) return { kind: 'earliest' };
  const match = typeof expression === 'string' ? selector.exec(expression) : null;
  if (!match) return undefined;
  const [, annotation, operator, text = ''] = match;
  if (text === '@latest') return { kind: 'latest' };
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  if (annotation === 'enqueued-time') return { kind: 'enqueuedTime', afterMs: operator === '>=' ? value - 1 : value };
  if (value < 0) return { kind: 'earliest' };
  const kind = annotation === 'offset' ? 'offset' : 'sequenceNumber';
  return { kind, value, isInclusive: operator === '>=' };
}
