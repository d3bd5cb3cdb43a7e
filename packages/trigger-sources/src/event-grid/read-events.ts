import type { WebhookRequest } from '../binding-extension.js';

/** An event as JSON has it, of any schema. */
export type PushedEvent = Readonly<Record<string, unknown>>;

/** What a request to the webhook wants. */
export type PushedRequest =
  | { readonly kind: 'events'; readonly events: readonly PushedEvent[] }
  /** The handshake of Event Grid: the code must be sent back. */
  | { readonly kind: 'validation'; readonly code: string }
  | { readonly kind: 'unsubscribed' }
  | { readonly kind: 'invalid'; readonly problem: string };

/**
 * Reads the events of a POST request: in the schema of Event Grid or another one, announced by `aeg-event-type`, or as CloudEvents
 * 1.0 in structured, batched or binary mode.
 */
export function readEvents(request: WebhookRequest): PushedRequest {
  const type = headerOf(request, 'aeg-event-type')?.toLowerCase();
  const contentType = mediaTypeOf(request);
  if (type === 'unsubscribe') return { kind: 'unsubscribed' };
  const isCloudEvent = contentType.startsWith('application/cloudevents');
  if (!isCloudEvent && headerOf(request, 'ce-specversion') !== undefined) return readBinary(request, contentType);
  if (type === undefined && !isCloudEvent)
    return invalid('has no aeg-event-type header and is no CloudEvent. Set aeg-event-type to Notification');
  const parsed = parseJson(request.body);
  if (!parsed) return invalid('has a body that is not JSON');
  const events: readonly unknown[] = Array.isArray(parsed.value) ? parsed.value : [parsed.value];
  if (events.length === 0 || !events.every(isObject))
    return invalid('has a body that is no event and no array of events');
  if (type === 'subscriptionvalidation') return readValidation(events);
  if (type !== undefined && type !== 'notification') return invalid(`has the unknown aeg-event-type "${type}"`);
  const broken = isCloudEvent ? events.map(problemOf).find((problem) => problem !== undefined) : undefined;
  return broken === undefined ? { kind: 'events', events } : invalid(broken);
}

function readValidation([event]: readonly PushedEvent[]): PushedRequest {
  const data = event?.['data'];
  const code = isObject(data) ? data['validationCode'] : undefined;
  return typeof code === 'string' && code !== ''
    ? { kind: 'validation', code }
    : invalid('is a subscription validation without data.validationCode');
}

/** Headers of CloudEvents begin with this. */
const prefix = 'ce-';

/** The attributes of the event are in headers; the body is its data. */
function readBinary(request: WebhookRequest, contentType: string): PushedRequest {
  const event: Record<string, unknown> = {};
  for (const name of Object.keys(request.headers))
    if (name.startsWith(prefix)) event[name.slice(prefix.length)] = decodeAttribute(headerOf(request, name) ?? '');
  const problem = problemOf(event);
  if (problem !== undefined) return invalid(problem);
  if (contentType !== '') event['datacontenttype'] = headerOf(request, 'content-type');
  if (request.body.byteLength === 0) return { kind: 'events', events: [event] };
  if (contentType === '' || /[/+]json$/.test(contentType)) {
    const parsed = parseJson(request.body);
    if (!parsed) return invalid('has a body that is not JSON, although its content-type says so');
    event['data'] = parsed.value;
  } else if (contentType.startsWith('text/')) event['data'] = Buffer.from(request.body).toString('utf8');
  else event['data_base64'] = Buffer.from(request.body).toString('base64');
  return { kind: 'events', events: [event] };
}

/** Characters that a header cannot hold are escaped as in a URL. */
function decodeAttribute(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Returns what a CloudEvent lacks. */
function problemOf(event: PushedEvent): string | undefined {
  if (event['specversion'] !== '1.0')
    return `has a CloudEvent of specversion ${JSON.stringify(event['specversion'] ?? null)}. Send version 1.0`;
  const missing = ['id', 'source', 'type'].find((name) => typeof event[name] !== 'string' || event[name] === '');
  return missing === undefined ? undefined : `has a CloudEvent without ${missing}`;
}

export function headerOf({ headers }: Pick<WebhookRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'object' ? value.join(', ') : value;
}

/** Without parameters, in lower case; empty if there is none. */
function mediaTypeOf(request: WebhookRequest): string {
  return (headerOf(request, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = Buffer.from(body)
      .toString('utf8')
      .replace(/^\uFEFF/, '');
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is PushedEvent {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(problem: string): PushedRequest {
  return { kind: 'invalid', problem };
}
