import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { FailedAttempt } from '../execution.js';
import { quoted } from './text-columns.js';

/** An entry of a journal row. */
export type JournalEntry =
  | {
      readonly kind: 'accepted';
      readonly accepted: AcceptedCall;
      readonly attempts: number;
      readonly failures: readonly FailedAttempt[];
    }
  /** Attempts of an execution that was accepted before. Without `failures` the failures recorded before are still the latest. */
  | {
      readonly kind: 'retry';
      readonly executionId: string;
      readonly attempts: number;
      readonly failures: readonly FailedAttempt[] | undefined;
    };

/** The first line of an entry, as JSON. The names are part of the stored format. */
interface EntryHead {
  readonly id?: string;
  readonly tried?: string;
  readonly attempts?: number;
  readonly failures?: readonly FailedAttempt[];
  readonly tenant: TenantId;
  readonly function: string;
  readonly generation: number;
  readonly kind: 'sync' | 'async';
  readonly at: number;
  readonly size: number;
  readonly encoding?: 'base64';
  readonly more?: Partial<AcceptedCall>;
}

/**
 * Encodes an accepted execution: a line of JSON, the payload with the length that `size` states, a line feed. The payload is neither
 * parsed nor escaped, so it is read back unchanged.
 */
export function acceptedEntry(accepted: AcceptedCall, attempts: number, failures: readonly FailedAttempt[]): string {
  const { payload, tenantId, functionName } = accepted;
  const tries = attempts > 0 || failures.length > 0 ? attemptFields(attempts, failures) : '';
  const encoding = payload.encoding === undefined ? '' : `,"encoding":"${payload.encoding}"`;
  return `{"id":"${accepted.executionId}","tenant":${quoted(tenantId)},"function":${quoted(functionName)},"generation":${accepted.generation},"kind":"${accepted.kind}","at":${accepted.acceptedAt},"size":${payload.json.length}${encoding}${tries}${moreField(accepted)}}\n${payload.json}\n`;
}

/** Encodes the attempts of an execution that was accepted before. */
export function retryEntry(executionId: string, attempts: number, failures?: readonly FailedAttempt[]): string {
  return `{"tried":"${executionId}"${attemptFields(attempts, failures)}}\n`;
}

/** Decodes the entries of a journal row. Throws a `SyntaxError` when the text is incomplete or has another format. */
export function readEntries(text: string): JournalEntry[] {
  const entries: JournalEntry[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\n', at);
    if (headEnd < 0) throw new SyntaxError(`there is no line feed after character ${at}`);
    const head = JSON.parse(text.slice(at, headEnd)) as EntryHead; // written by `acceptedEntry` or `retryEntry`
    at = headEnd + 1;
    if (head.tried !== undefined) {
      const { tried: executionId, attempts = 0, failures } = head;
      entries.push({ kind: 'retry', executionId, attempts, failures });
      continue;
    }
    const end = at + head.size;
    if (head.id === undefined || text[end] !== '\n')
      throw new SyntaxError(`the entry whose payload begins at character ${at} is incomplete or of an unknown kind`);
    entries.push(toAccepted(head.id, head, text.slice(at, end)));
    at = end + 1;
  }
  return entries;
}

function toAccepted(executionId: string, head: EntryHead, json: string): JournalEntry {
  const { tenant, generation, kind, at, encoding, attempts = 0, failures = [], more } = head;
  const payload = encoding === undefined ? { json } : { json, encoding };
  const accepted = {
    ...more,
    executionId,
    tenantId: tenant,
    functionName: head.function,
    generation,
    payload,
    kind,
    acceptedAt: at,
  };
  return { kind: 'accepted', accepted, attempts, failures };
}

function attemptFields(attempts: number, failures: readonly FailedAttempt[] | undefined): string {
  return `,"attempts":${attempts}${failures ? `,"failures":${JSON.stringify(failures)}` : ''}`;
}

/** Encodes the optional properties, which most calls do not have. */
function moreField(accepted: AcceptedCall): string {
  const { metadata, headers, tracestate, runAt, callbackUrl, replayOf, traceId, traceparent } = accepted;
  const { idempotencyKey, concurrencyKey } = accepted;
  if (
    (metadata ?? headers ?? tracestate ?? runAt) !== undefined ||
    (callbackUrl ?? replayOf ?? idempotencyKey ?? concurrencyKey) !== undefined
  ) {
    const trace = { traceId, traceparent, tracestate };
    const more = { metadata, headers, runAt, callbackUrl, replayOf, ...trace, idempotencyKey, concurrencyKey };
    return `,"more":${JSON.stringify(more)}`;
  }
  // Most calls have a trace and nothing else: no need for the serializer.
  if (traceId === undefined) return traceparent === undefined ? '' : `,"more":{"traceparent":${quoted(traceparent)}}`;
  const parent = traceparent === undefined ? '' : `,"traceparent":${quoted(traceparent)}`;
  return `,"more":{"traceId":${quoted(traceId)}${parent}}`;
}
