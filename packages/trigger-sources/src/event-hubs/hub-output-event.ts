import type { EventData } from '@azure/event-hubs';
import { eventHubEventUnsendable } from '../errors.js';
import { readByRules, type OptionRule } from '../options/option-rules.js';
import type { OutputMessage } from '../trigger-source.js';
import { hubText } from './option-kinds.js';

/** An event, and the key that selects its partition. */
export interface OutputEvent {
  readonly event: EventData;
  readonly partitionKey: string | undefined;
}

interface OutputDefaults {
  readonly hub: string;
  readonly partitionKey: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Cheaper than to parse every JSON text. */
const looksLikeEnvelope = /^\s*\{\s*"\$message"\s*:/;

/** An object of values that AMQP can carry without a loss. */
export const eventProperties: OptionRule<Readonly<Record<string, unknown>>> = {
  allowed: 'an object of texts, numbers and booleans',
  read(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const isPlain = Object.values(value).every((one) => ['string', 'number', 'boolean'].includes(typeof one));
    return isPlain ? (value as Readonly<Record<string, unknown>>) : undefined; // checked above
  },
};

const envelopeRules = {
  partitionKey: hubText,
  messageId: hubText,
  correlationId: hubText,
  contentType: hubText,
  applicationProperties: eventProperties,
  body: { allowed: 'a JSON value', read: (value: unknown) => value },
  bodyBase64: { allowed: 'base64 text', read: (value: unknown) => (typeof value === 'string' ? value : undefined) },
};

/**
 * Converts an output into an event: text and bytes become its body, as the official host sends them, and an object with the
 * one key `$message` its body, key and properties. Throws EVENT_HUB_EVENT_UNSENDABLE with all problems.
 */
export function toOutputEvent({ body }: OutputMessage, { hub, partitionKey, properties }: OutputDefaults): OutputEvent {
  const hasDefaults = Object.keys(properties).length > 0;
  const envelope = typeof body === 'string' && looksLikeEnvelope.test(body) ? parseEnvelope(body) : undefined;
  if (envelope === undefined)
    return { event: { body: bytesOf(body), ...(hasDefaults && { properties: { ...properties } }) }, partitionKey };
  const { values, problems, unknownKeys } = readByRules(envelopeRules, envelope);
  const found = [
    ...problems.map(({ key, problem }) => `${key}, which ${problem}`),
    ...unknownKeys.map((key) => `${key}, which is no property of an event`),
  ];
  if (found.length > 0) throw eventHubEventUnsendable({ hub, problem: `has ${found.join('; has ')}` });
  const { body: inner, bodyBase64, applicationProperties, partitionKey: ownKey, ...fields } = values;
  const content = typeof inner === 'string' ? inner : JSON.stringify(inner ?? null);
  return {
    event: {
      ...fields,
      body: bodyBase64 === undefined ? bytesOf(content) : Buffer.from(bodyBase64, 'base64'),
      properties: { ...properties, ...applicationProperties },
    },
    partitionKey: ownKey ?? partitionKey,
  };
}

/** Bytes, because the SDK would put quotes around a text. */
function bytesOf(body: string | Uint8Array): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function parseEnvelope(json: string): unknown {
  try {
    const value = JSON.parse(json) as Readonly<Record<string, unknown>>; // begins with a brace
    return Object.keys(value).length === 1 ? value['$message'] : undefined;
  } catch {
    return undefined;
  }
}
