import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { FailedAttempt } from '../execution-store.js';
import { quoted } from './quoted.js';

/** What one entry of a journal row says. */
export type JournalEntry =
  | {
      readonly kind: 'accepted';
      readonly accepted: AcceptedCall;
      readonly attempts: number;
      readonly failures: readonly FailedAttempt[];
    }
  /** Attempts were used up meanwhile; without `failures` those known before still hold. */
  | {
      readonly kind: 'tried';
      readonly executionId: string;
      readonly attempts: number;
      readonly failures: readonly FailedAttempt[] | undefined;
    };

/** The first line of an entry. */
interface Head {
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
 * An accepted execution as text: a line of JSON, then the payload as it came, as long as `size` says, then a line feed.
 * The payload is never parsed, so whatever it holds it comes out as it went in.
 */
export function acceptedEntry(accepted: AcceptedCall, attempts: number, failures: readonly FailedAttempt[]): string {
  const { payload, tenantId, functionName } = accepted;
  const tried = attempts > 0 || failures.length > 0 ? triedFields(attempts, failures) : '';
  const encoding = payload.encoding === undefined ? '' : `,"encoding":"${payload.encoding}"`;
  return `{"id":"${accepted.executionId}","tenant":${quoted(tenantId)},"function":${quoted(functionName)},"generation":${accepted.generation},"kind":"${accepted.kind}","at":${accepted.acceptedAt},"size":${payload.json.length}${encoding}${tried}${moreField(accepted)}}\n${payload.json}\n`;
}

/** A note on an accepted one, as text. */
export function triedEntry(executionId: string, attempts: number, failures?: readonly FailedAttempt[]): string {
  return `{"tried":"${executionId}"${triedFields(attempts, failures)}}\n`;
}

/** All entries of a journal row; throws when it cannot make sense of them. */
export function readEntries(text: string): JournalEntry[] {
  const entries: JournalEntry[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\n', at);
    if (headEnd < 0) throw new SyntaxError(`no line feed behind ${at}`);
    const head = JSON.parse(text.slice(at, headEnd)) as Head; // `acceptedEntry` or `triedEntry` wrote it
    at = headEnd + 1;
    if (head.tried !== undefined) {
      const { tried: executionId, attempts = 0, failures } = head;
      entries.push({ kind: 'tried', executionId, attempts, failures });
      continue;
    }
    const end = at + head.size;
    if (head.id === undefined || text[end] !== '\n') throw new SyntaxError(`no entry begins at ${at}`);
    entries.push(toAccepted(head.id, head, text.slice(at, end)));
    at = end + 1;
  }
  return entries;
}

function toAccepted(executionId: string, head: Head, json: string): JournalEntry {
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

function triedFields(attempts: number, failures: readonly FailedAttempt[] | undefined): string {
  return `,"attempts":${attempts}${failures ? `,"failures":${JSON.stringify(failures)}` : ''}`;
}

/** What many calls lack. */
function moreField(accepted: AcceptedCall): string {
  const { metadata, headers, tracestate, runAt, callbackUrl, replayOf, traceId, traceparent, idempotencyKey } =
    accepted;
  if (
    (metadata ?? headers ?? tracestate ?? runAt) !== undefined ||
    (callbackUrl ?? replayOf ?? idempotencyKey) !== undefined
  ) {
    const more = { metadata, headers, tracestate, runAt, callbackUrl, replayOf, traceId, traceparent, idempotencyKey };
    return `,"more":${JSON.stringify(more)}`;
  }
  // Traced and nothing else, as most are: without the serialiser.
  if (traceId === undefined) return traceparent === undefined ? '' : `,"more":{"traceparent":${quoted(traceparent)}}`;
  const parent = traceparent === undefined ? '' : `,"traceparent":${quoted(traceparent)}`;
  return `,"more":{"traceId":${quoted(traceId)}${parent}}`;
}
