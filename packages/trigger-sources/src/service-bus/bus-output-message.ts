import type { ServiceBusMessage } from '@azure/service-bus';
import { serviceBusMessageUnsendable } from '../errors.js';
import { parseTimeSpan, timeSpanRule } from '../options/time-span.js';
import type { OutputMessage } from '../trigger-source.js';

/** The one key of an object that is a message with properties. Any other object is the body of a message. */
export const envelopeKey = '$message';

/** Cheaper than to parse every JSON text. */
const looksLikeEnvelope = /^\s*\{\s*"\$message"\s*:/;

interface FieldRule {
  readonly allowed: string;
  /** Returns undefined if the value is not allowed. */
  read(value: unknown): unknown;
}

const text = (longest: number): FieldRule => ({
  allowed: `text of up to ${longest} characters`,
  read: (value) => (typeof value === 'string' && value.length <= longest ? value : undefined),
});

const time: FieldRule = {
  allowed: 'a time like "2030-01-31T12:00:00Z"',
  read(value) {
    const date = typeof value === 'string' ? new Date(value) : undefined;
    return date && !Number.isNaN(date.getTime()) ? date : undefined;
  },
};

const duration: FieldRule = {
  allowed: `milliseconds, or ${timeSpanRule}`,
  read(value) {
    const ms = typeof value === 'string' ? parseTimeSpan(value) : value;
    return typeof ms === 'number' && ms > 0 ? ms : undefined;
  },
};

const properties: FieldRule = {
  allowed: 'an object of texts, numbers, booleans and nulls',
  read(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return Object.values(value).every((one) => one === null || typeof one !== 'object') ? value : undefined;
  },
};

/** Longest texts by the service. */
const fields: Readonly<Record<string, FieldRule>> = {
  messageId: text(128),
  sessionId: text(128),
  partitionKey: text(128),
  replyToSessionId: text(128),
  correlationId: text(65_535),
  contentType: text(65_535),
  subject: text(65_535),
  to: text(65_535),
  replyTo: text(65_535),
  timeToLive: duration,
  scheduledEnqueueTimeUtc: time,
  applicationProperties: properties,
};

/**
 * Converts an output into a message: bytes and text become its body, and an object with the one key `$message` its body and
 * properties. Throws SERVICE_BUS_MESSAGE_UNSENDABLE with all problems. The id lets a retry be recognized as the same message.
 */
export function toBusMessage({ body }: OutputMessage, entity: string, newId: () => string): ServiceBusMessage {
  const envelope = typeof body === 'string' && looksLikeEnvelope.test(body) ? parseEnvelope(body) : undefined;
  if (envelope === undefined) return { messageId: newId(), ...toBody(body) };
  const problems: string[] = [];
  const message: Record<string, unknown> = { messageId: newId(), ...bodyOf(envelope, problems) };
  for (const [name, value] of Object.entries(envelope)) {
    if (name === 'body' || name === 'bodyBase64' || value === undefined || value === null) continue;
    const rule = fields[name];
    const read = rule?.read(value);
    if (!rule) problems.push(`${name}, which is no property of a message`);
    else if (read === undefined) problems.push(`${name} ${JSON.stringify(value)}, which must be ${rule.allowed}`);
    else message[name] = read;
  }
  if (problems.length > 0) throw serviceBusMessageUnsendable({ entity, problem: `has ${problems.join('; has ')}` });
  return message as unknown as ServiceBusMessage; // each property was read by its rule
}

function parseEnvelope(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(json) as Readonly<Record<string, unknown>>; // begins with a brace
    const inner = Object.keys(value).length === 1 ? value[envelopeKey] : undefined;
    return typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? (inner as Readonly<Record<string, unknown>>) // not an array
      : undefined;
  } catch {
    return undefined;
  }
}

function bodyOf(envelope: Readonly<Record<string, unknown>>, problems: string[]): Pick<ServiceBusMessage, 'body'> {
  const { body, bodyBase64 } = envelope;
  if (bodyBase64 !== undefined) {
    if (typeof bodyBase64 === 'string' && body === undefined)
      return { body: Buffer.from(bodyBase64, 'base64'), contentType: 'application/octet-stream' } as ServiceBusMessage;
    problems.push('a bodyBase64, which must be base64 text in place of body');
  }
  return toBody(typeof body === 'string' ? body : JSON.stringify(body ?? null));
}

/** Bodies are sent as bytes: the SDK would put quotes around a text. */
function toBody(body: string | Uint8Array): ServiceBusMessage {
  if (typeof body !== 'string') {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { body: bytes, contentType: 'application/octet-stream' };
  }
  return { body: Buffer.from(body), contentType: /^\s*[[{]/.test(body) ? 'application/json' : 'text/plain' };
}
