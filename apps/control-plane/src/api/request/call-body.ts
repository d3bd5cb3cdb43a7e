import type { Payload } from '@drover/contracts';
import { bodyUnreadable } from '@drover/http-edge';
import { requestInvalid } from '../../errors.js';
import { findSpans, type JsonSpans } from './json-spans.js';

/** The parsed body of a call. */
export interface CallBody {
  readonly payload: Payload;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
  /** Epoch milliseconds. */
  readonly runAt?: number;
  readonly callbackUrl?: string;
  readonly idempotencyKey?: string;
  readonly concurrencyKey?: string;
}

/** Deeper than real inputs and far below the limit of recursive parsers. */
const maxDepth = 128;
const maxMetadata = { entries: 64, keyLength: 256, valueLength: 8_192 };
const maxDelayMs = 2_592_000_000;
const maxUrlLength = 2_048;
/** RFC 3339; `Date.parse` alone would also accept a bare number. */
const instantPattern = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Parses and checks the text of a JSON object. Returns its value and the spans of its members. Throws `BAD_REQUEST`. */
export function parseObject(text: string): {
  readonly object: Readonly<Record<string, unknown>>;
  readonly spans: JsonSpans;
} {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw requestInvalid({ problem: 'body must be an object: {"input": …}' });
  const spans = findSpans(text);
  if (spans.depth > maxDepth) throw bodyUnreadable({ problem: `the body is nested deeper than ${maxDepth} levels` });
  return { object: value as Readonly<Record<string, unknown>>, spans }; // just looked
}

/** Checks JSON that is passed on as text. Throws `BAD_REQUEST`. */
export function checkJson(text: string): void {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return;

  if (findSpans(text).depth > maxDepth)
    throw bodyUnreadable({ problem: `the body is nested deeper than ${maxDepth} levels` });
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = text === '' ? 'it is empty' : error instanceof Error ? error.message.slice(0, 200) : '';
    throw bodyUnreadable({ problem: `the body is not valid JSON: ${reason}` }, error);
  }
  // Only a text that contains one of these can contain the key, literally or escaped.
  if (text.includes('__proto__') || text.includes('\\u')) refusePrototypeKeys(value);
  return value;
}

/** Refuses `__proto__` keys: handlers that merge the input into their own objects would change prototypes. */
function refusePrototypeKeys(root: unknown): void {
  let level = [root];
  while (level.length > 0) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      if (Object.hasOwn(value, '__proto__')) throw bodyUnreadable({ problem: 'the key "__proto__" is not allowed' });
      for (const child of Object.values(value)) next.push(child);
    }
    level = next;
  }
}

/** Parses `{input, metadata}`. The input is passed on as it was written. */
export function parseCallBody(text: string): CallBody {
  return toCallBody(text, parseObject(text));
}

function toCallBody(text: string, { object, spans }: ReturnType<typeof parseObject>): CallBody {
  if (!Object.hasOwn(object, 'input'))
    throw requestInvalid({ problem: 'body must have the property "input"; null is a value, too' });
  const span = spans.values.get('input');
  const payload = { json: span ? text.slice(span[0], span[1]) : 'null' };
  const metadata = parseMetadata(object['metadata']);
  const concurrencyKey = parseKey(object['concurrencyKey'], 'body.concurrencyKey');
  if (concurrencyKey !== undefined) return { payload, concurrencyKey, ...(metadata && { metadata }) };
  return metadata ? { payload, metadata } : { payload };
}

/** The same with what only calls have that nobody waits for. */
export function parseEnqueueBody(text: string): CallBody {
  const parsed = parseObject(text);
  const body = toCallBody(text, parsed);
  const options = parseEnqueueOptions(parsed.object, 'body');
  return options === noOptions ? body : { ...body, ...options };
}

/** Parses one item of a batch. Like everywhere, null stands for a field that is not set; only the input may be null. */
export function parseBatchItem(item: unknown, where: string): CallBody {
  if (typeof item !== 'object' || item === null || !('input' in item))
    throw requestInvalid({ problem: `${where} must be an object with the property "input"` });
  const object = item as Readonly<Record<string, unknown>>; // just looked
  const metadata = parseMetadata(object['metadata'], `${where}.metadata`);
  const idempotencyKey = parseKey(object['idempotencyKey'], `${where}.idempotencyKey`);
  const concurrencyKey = parseKey(object['concurrencyKey'], `${where}.concurrencyKey`);
  return {
    payload: { json: JSON.stringify(object['input']) },
    ...(metadata && { metadata }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(concurrencyKey !== undefined && { concurrencyKey }),
    ...parseEnqueueOptions(object, where),
  };
}

/** Checks an idempotency or concurrency key in a body. */
function parseKey(key: unknown, where: string): string | undefined {
  if (key === undefined || key === null) return undefined;
  if (typeof key !== 'string' || !keyPattern.test(key)) throw requestInvalid({ problem: `${where} ${keyRule}` });
  return key;
}

export const keyPattern = /^[\x21-\x7e]{1,255}$/;
export const keyRule = 'must be 1 to 255 visible ASCII characters without spaces';

type EnqueueOptions = Pick<CallBody, 'delayMs' | 'runAt' | 'callbackUrl'>;

/** Shared by most calls, which set none. */
const noOptions: EnqueueOptions = {};

function parseEnqueueOptions(object: Readonly<Record<string, unknown>>, where: string): EnqueueOptions {
  const delayMs = object['delayMs'] ?? undefined;
  const runAt = object['runAt'] ?? undefined;
  const callbackUrl = object['callbackUrl'] ?? undefined;
  if (delayMs === undefined && runAt === undefined && callbackUrl === undefined) return noOptions;
  if (delayMs !== undefined && !(Number.isInteger(delayMs) && Number(delayMs) >= 0 && Number(delayMs) <= maxDelayMs))
    throw requestInvalid({ problem: `${where}.delayMs must be a whole number from 0 to ${maxDelayMs}` });
  if (delayMs !== undefined && runAt !== undefined)
    throw requestInvalid({ problem: `${where} has both delayMs and runAt: keep one of them` });
  if (
    runAt !== undefined &&
    (typeof runAt !== 'string' || !instantPattern.test(runAt) || Number.isNaN(Date.parse(runAt)))
  )
    throw requestInvalid({ problem: `${where}.runAt must be an instant such as 2030-01-31T12:00:00Z` });
  if (callbackUrl !== undefined) checkCallbackUrl(callbackUrl, `${where}.callbackUrl`);
  return {
    ...(typeof delayMs === 'number' && { delayMs }),
    ...(typeof runAt === 'string' && { runAt: Date.parse(runAt) }),
    ...(typeof callbackUrl === 'string' && { callbackUrl }),
  };
}

/** Checks the form only. Whether the URL may be called is decided at delivery, since names may resolve differently then. */
export function checkCallbackUrl(url: unknown, where: string): void {
  if (typeof url !== 'string' || url.length > maxUrlLength || !URL.canParse(url) || !/^https?:/i.test(url))
    throw requestInvalid({ problem: `${where} must be an http or https URL of at most ${maxUrlLength} characters` });
}

export function parseMetadata(value: unknown, where = 'body.metadata'): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined;
  const { entries, keyLength, valueLength } = maxMetadata;
  if (typeof value !== 'object' || Array.isArray(value))
    throw requestInvalid({ problem: `${where} must be an object of strings` });
  const pairs = Object.entries(value);
  if (pairs.length > entries) throw requestInvalid({ problem: `${where} has more than ${entries} entries` });
  let unset = 0;
  for (const [key, text] of pairs)
    if (text === null) unset += 1;
    else if (typeof text !== 'string' || key.length > keyLength || text.length > valueLength)
      throw requestInvalid({
        problem: `${where} must have strings of at most ${valueLength} characters under keys of at most ${keyLength}`,
      });
  const strings = unset === 0 ? value : Object.fromEntries(pairs.filter(([, text]) => text !== null));
  return strings as Readonly<Record<string, string>>; // just looked at every entry
}
