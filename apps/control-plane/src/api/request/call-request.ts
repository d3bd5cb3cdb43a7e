import type { IncomingHttpHeaders } from 'node:http';
import { mediaTypeUnsupported, type EdgeRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { requestInvalid } from '../../errors.js';
import type { NewCall } from '../../executions/engine-options.js';
import { callerHeaders } from './caller-headers.js';
import {
  checkCallbackUrl,
  checkJson,
  keyPattern,
  keyRule,
  parseCallBody,
  parseEnqueueBody,
  parseMetadata,
  parseObject,
  type CallBody,
} from './call-body.js';

export type CallForm =
  /** `{input, metadata}`. */
  | 'envelope'
  /** The same, with the options of asynchronous calls. */
  | 'enqueue'
  /** The body is the input. */
  | 'raw';

const traceIdPattern = /^[\w.:-]{1,128}$/;
const longestBudgetMs = 300_000;

/** Parses a request into a call: checks headers and reads the body as its content type says. Throws coded errors. */
export function toCall(
  request: Pick<EdgeRequest, 'headers' | 'rawHeaders'>,
  body: Buffer,
  form: CallForm,
  clock: Pick<Clock, 'now'>,
): NewCall {
  const { headers } = request;
  const said = readBody(headers, body, form);
  const idempotencyKey = checked(headers['idempotency-key'], keyPattern, 'the header Idempotency-Key', keyRule);
  const traceId = checked(
    headers['x-trace-id'],
    traceIdPattern,
    'the header X-Trace-Id',
    'must be 1 to 128 letters, digits, dots, colons, underscores and hyphens',
  );
  const { traceparent, tracestate } = headers;
  return {
    payload: said.payload,
    metadata: said.metadata,
    headers: callerHeaders(request),
    idempotencyKey,
    concurrencyKey:
      said.concurrencyKey ?? checked(headers['x-concurrency-key'], keyPattern, 'the header X-Concurrency-Key', keyRule),
    traceId,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
    runAt: said.delayMs === undefined ? said.runAt : clock.now() + said.delayMs,
    callbackUrl: said.callbackUrl,
  };
}

/** Returns how long the caller waits: `X-Timeout-Ms`, or the time limit of the function. */
export function budgetOf(headers: IncomingHttpHeaders, timeoutMs: number): number {
  const asked = headers['x-timeout-ms'];
  if (asked === undefined) return timeoutMs;
  const ms = Number(asked);
  if (!/^\d+$/.test(String(asked)) || ms < 1 || ms > longestBudgetMs)
    throw requestInvalid({ problem: `the header X-Timeout-Ms must be a whole number from 1 to ${longestBudgetMs}` });
  return ms;
}

function readBody(headers: IncomingHttpHeaders, body: Buffer, form: CallForm): CallBody {
  const type = mediaTypeOf(headers['content-type']);
  if (type === 'application/cloudevents+json') return structuredEvent(body.toString('utf8'));
  const binaryEvent = headers['ce-specversion'] === undefined ? undefined : eventMetadata(headers);
  if (binaryEvent || form === 'raw') {
    const said = rawInput(type, body);
    const callbackUrl = headers['x-callback-url'];
    if (callbackUrl !== undefined) checkCallbackUrl(callbackUrl, 'the header X-Callback-Url');
    return {
      ...said,
      ...(binaryEvent && { metadata: binaryEvent }),
      ...(typeof callbackUrl === 'string' && { callbackUrl }),
    };
  }
  if (type === 'application/octet-stream') return rawInput(type, body);
  requireJson(headers);
  return form === 'enqueue' ? parseEnqueueBody(body.toString('utf8')) : parseCallBody(body.toString('utf8'));
}

/** Reads a body that is the input itself: JSON as it is, text as a string, anything else as bytes. */
function rawInput(type: string, body: Buffer): CallBody {
  if (body.length === 0) return { payload: { json: 'null' } };
  if (type === 'application/json' || type.endsWith('+json')) {
    const json = body.toString('utf8');
    checkJson(json);
    return { payload: { json: json.trim() } };
  }
  if (type === '' || type.startsWith('text/') || type === 'application/x-www-form-urlencoded')
    return { payload: { json: JSON.stringify(body.toString('utf8')) } };
  return { payload: { json: `"${body.toString('base64')}"`, encoding: 'base64' } };
}

const eventAttribute = /^[a-z0-9]{1,20}$/;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Reads a structured CloudEvent 1.0: `data` is the input, the attributes are metadata. */
function structuredEvent(text: string): CallBody {
  const { object, spans } = parseObject(text);
  const said: Record<string, string> = {};
  for (const [name, value] of Object.entries(object)) {
    // The specification treats an attribute that is null as absent.
    if (name === 'data' || name === 'data_base64' || value === null) continue;
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (!isScalar || !eventAttribute.test(name))
      throw requestInvalid({ problem: `body.${name.slice(0, 50)} is not an attribute that a CloudEvent may have` });
    said[`ce-${name}`] = String(value);
  }
  requireAttributes(said);
  const metadata = parseMetadata(said, 'the attributes of the event') ?? {};
  const bytes = object['data_base64'] ?? undefined;
  if (bytes !== undefined) {
    if (typeof bytes !== 'string' || !base64.test(bytes) || (object['data'] ?? undefined) !== undefined)
      throw requestInvalid({ problem: 'body.data_base64 must be base64, and the only data' });
    return { payload: { json: JSON.stringify(bytes), encoding: 'base64' }, metadata };
  }
  const span = spans.values.get('data');
  return { payload: { json: span ? text.slice(...span) : 'null' }, metadata };
}

/** Reads the attributes of a binary CloudEvent 1.0 from headers that begin with `ce-`. */
function eventMetadata(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith('ce-') && typeof value === 'string') metadata[name] = value;
  requireAttributes(metadata);
  return metadata;
}

function requireAttributes(metadata: Readonly<Record<string, string>>): void {
  if (metadata['ce-specversion'] !== '1.0')
    throw requestInvalid({ problem: 'only CloudEvents with specversion 1.0 are supported' });
  for (const name of ['id', 'source', 'type'])
    if (!metadata[`ce-${name}`]) throw requestInvalid({ problem: `a CloudEvent must have the attribute "${name}"` });
}

/** Throws if the content type is not application/json. */
export function requireJson(headers: IncomingHttpHeaders): void {
  const type = mediaTypeOf(headers['content-type']);
  if (type !== 'application/json')
    throw mediaTypeUnsupported({ received: type === '' ? 'without a content type' : type.slice(0, 100) });
}

function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === undefined || contentType === 'application/json') return contentType ?? '';
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

function checked(
  value: string | readonly string[] | undefined,
  pattern: RegExp,
  what: string,
  rule: string,
): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !pattern.test(value)) throw requestInvalid({ problem: `${what} ${rule}` });
  return value;
}
