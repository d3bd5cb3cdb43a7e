import { randomUUID } from 'node:crypto';
import {
  compoundItems,
  encodeCompound,
  encodeLong,
  encodeString,
  encodeSymbol,
  encodeTimestamp,
  valueEnd,
  variableBytes,
} from '../../amqp/amqp-bytes.js';
import {
  encodeHeader,
  encodeMapSection,
  readMapSection,
  splitMessage,
  withMessageId,
} from '../../amqp/message-sections.js';
import { decodeValue, integerOf } from '../../amqp/values.js';
import type { MessageContent } from '../broker/message.js';
import type { PropertyChanges, SqlResult, SystemProperty } from '../filters/sql-values.js';

/** Place of each broker property in the properties section. */
const propertyFields: Readonly<Partial<Record<SystemProperty, number>>> = {
  messageid: 0,
  to: 2,
  label: 3,
  replyto: 4,
  correlationid: 5,
  contenttype: 6,
  sessionid: 10,
  replytosessionid: 12,
};
const sessionIdField = 10;
const contentTypeField = 6;
const propertiesCode = 0x73;
const encodedNull = Buffer.from([0x40]);
/** A lifetime of this many milliseconds is what SDKs send for "for ever". */
const unlimitedLifetimeMs = 0xffff_ffff;

/** Annotations that only the service sets. A client that sends a received message again has them in it. */
const serviceAnnotations = new Set([
  'x-opt-sequence-number',
  'x-opt-enqueued-time',
  'x-opt-enqueue-sequence-number',
  'x-opt-locked-until',
  'x-opt-message-state',
  'x-opt-deadletter-source',
]);

interface ContentSections {
  /** Encoded keys and values of the sender's message annotations, in turn. */
  readonly annotations: readonly Buffer[];
  readonly properties: Buffer;
  readonly applicationProperties: Buffer;
  readonly body: Buffer;
  readonly timeToLiveMs: number | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly partitionKey: string | undefined;
}

/** A message as its sender encoded it. Properties are decoded when a filter asks; untouched ones keep their bytes and types. */
export class EncodedContent implements MessageContent {
  readonly messageId: string;
  readonly sessionId: string | undefined;
  readonly timeToLiveMs: number | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly bytes: number;
  /** Properties, application properties, body and footer, ready to send. */
  readonly bare: Buffer;
  readonly annotations: readonly Buffer[];
  readonly #sections: ContentSections;
  #user: ReadonlyMap<string, Buffer> | undefined;

  constructor(sections: ContentSections, bare: Buffer, messageId: string, sessionId: string | undefined) {
    this.#sections = sections;
    this.bare = bare;
    this.messageId = messageId;
    this.sessionId = sessionId;
    this.annotations = sections.annotations;
    this.timeToLiveMs = sections.timeToLiveMs;
    this.scheduledAtMs = sections.scheduledAtMs;
    this.bytes = bare.length;
    for (const annotation of sections.annotations) this.bytes += annotation.length;
  }

  get body(): Buffer {
    return this.#sections.body;
  }

  system(name: SystemProperty): SqlResult {
    if (name === 'partitionkey') return this.#sections.partitionKey;
    if (name === 'scheduledenqueuetimeutc') {
      return this.scheduledAtMs === undefined ? undefined : new Date(this.scheduledAtMs);
    }
    const field = propertyFields[name];
    const encoded = field === undefined ? undefined : listItems(this.#sections.properties)[field];
    return encoded === undefined ? undefined : (sqlValue(encoded) ?? undefined);
  }

  user(name: string): SqlResult {
    const encoded = this.#byName().get(name.toLowerCase());
    return encoded === undefined ? undefined : sqlValue(encoded);
  }

  /** Application properties by name as the sender spelled it. */
  userProperties(): Map<string, SqlResult> {
    return new Map(
      [...readUserSection(this.#sections.applicationProperties)].map(([name, value]) => [name, sqlValue(value)]),
    );
  }

  with({ system, user }: PropertyChanges): EncodedContent {
    let { properties, applicationProperties } = this.#sections;
    if (system.size > 0) properties = changeProperties(properties, system);
    if (user.size > 0) applicationProperties = changeUserProperties(applicationProperties, user);
    return assemble({ ...this.#sections, properties, applicationProperties });
  }

  /** The message as one buffer that `decodeContent` reads: what a journal stores. */
  encode(): Buffer {
    return Buffer.concat([
      encodeHeader(this.timeToLiveMs === undefined ? {} : { ttlMs: this.timeToLiveMs }),
      encodeCompound(0x72, 'map', this.annotations),
      this.bare,
    ]);
  }

  #byName(): ReadonlyMap<string, Buffer> {
    this.#user ??= new Map(
      [...readUserSection(this.#sections.applicationProperties)].map(([name, value]) => [name.toLowerCase(), value]),
    );
    return this.#user;
  }
}

/** Reads an encoded message and copies what is kept. Assigns a message id if there is none. Throws MalformedMessage. */
export function decodeContent(encoded: Buffer): EncodedContent {
  const sections = splitMessage(encoded);
  const properties = sections.properties ?? Buffer.alloc(0);
  const { annotations, scheduledAtMs, partitionKey } = readAnnotations(sections.messageAnnotations);
  const kept = {
    annotations,
    scheduledAtMs,
    partitionKey,
    applicationProperties: sections.applicationProperties ?? Buffer.alloc(0),
    body: sections.body,
    timeToLiveMs: lifetimeOf(sections.header),
  };
  const fields = properties.length === 0 ? [] : listItems(properties);
  const messageId = textOf(fields[0]);
  if (messageId === undefined) {
    return assemble({ ...kept, properties: withMessageId(sections.properties, randomUUID().replaceAll('-', '')) });
  }
  const bare = Buffer.from(sections.bare);
  const bodyStart = bare.length - sections.body.length;
  const own = {
    ...kept,
    properties: bare.subarray(0, properties.length),
    applicationProperties: bare.subarray(properties.length, bodyStart),
    body: bare.subarray(bodyStart),
  };
  return new EncodedContent(own, bare, messageId, textOf(fields[sessionIdField]));
}

function assemble(sections: ContentSections): EncodedContent {
  const { properties, applicationProperties, body } = sections;
  const bare = Buffer.concat([properties, applicationProperties, body]);
  const fields = listItems(properties);
  const bodyStart = bare.length - body.length;
  const own = {
    ...sections,
    properties: bare.subarray(0, properties.length),
    applicationProperties: bare.subarray(properties.length, bodyStart),
    body: bare.subarray(bodyStart),
  };
  return new EncodedContent(own, bare, textOf(fields[0]) ?? '', textOf(fields[sessionIdField]));
}

function readAnnotations(
  section: Buffer | undefined,
): Pick<ContentSections, 'annotations' | 'scheduledAtMs' | 'partitionKey'> {
  const annotations: Buffer[] = [];
  let scheduledAtMs: number | undefined;
  let partitionKey: string | undefined;
  for (const [key, value] of readMapSection(section)) {
    if (serviceAnnotations.has(key)) continue;
    if (key === 'x-opt-scheduled-enqueue-time') {
      const time = decodeValue(value);
      if (time instanceof Date) scheduledAtMs = time.getTime();
    } else if (key === 'x-opt-partition-key') {
      partitionKey = textOf(value);
    }
    annotations.push(encodeSymbol(key), Buffer.from(value));
  }
  return { annotations, scheduledAtMs, partitionKey };
}

function lifetimeOf(header: Buffer | undefined): number | undefined {
  const encoded = header === undefined ? undefined : listItems(header)[2];
  const lifetime = encoded === undefined ? undefined : integerOf(decodeValue(encoded));
  return lifetime === undefined || lifetime >= unlimitedLifetimeMs ? undefined : lifetime;
}

function listItems(section: Buffer): readonly Buffer[] {
  return compoundItems(section, valueEnd(section, 1)) ?? [];
}

/** Text of an encoded id: of a string as it is, of another type in its usual notation. */
function textOf(encoded: Buffer | undefined): string | undefined {
  if (encoded === undefined || encoded[0] === 0x40) return undefined;
  if (encoded[0] === 0xa1 || encoded[0] === 0xb1) return variableBytes(encoded)?.toString();
  const value = sqlValue(encoded);
  return value === null || value === undefined
    ? undefined
    : value instanceof Date
      ? value.toISOString()
      : String(value);
}

const integerCodes = new Set([0x43, 0x44, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x60, 0x61, 0x70, 0x71, 0x80, 0x81]);
const uuidCode = 0x98;

function sqlValue(encoded: Buffer): SqlResult {
  const code = encoded[0] ?? 0x40;
  const value = decodeValue(encoded);
  if (integerCodes.has(code)) {
    if (Buffer.isBuffer(value)) return code === 0x80 ? value.readBigUInt64BE() : value.readBigInt64BE();
    return BigInt(Number(value));
  }
  if (Buffer.isBuffer(value)) return code === uuidCode ? uuidText(value) : value.toString('hex');
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  return value instanceof Date ? value : undefined;
}

function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** An absent section is an empty buffer here. */
function readUserSection(section: Buffer): Map<string, Buffer> {
  return section.length === 0 ? new Map() : readMapSection(section);
}

function changeProperties(section: Buffer, changes: PropertyChanges['system']): Buffer {
  const items = [...listItems(section)];
  for (const [name, value] of changes) {
    const field = propertyFields[name];
    if (field === undefined) continue;
    while (items.length <= field) items.push(encodedNull);
    const encoded =
      value === null ? encodedNull : field === contentTypeField ? encodeSymbol(value) : encodeString(value);
    items[field] = encoded;
  }
  return encodeCompound(propertiesCode, 'list', items);
}

function changeUserProperties(section: Buffer, changes: PropertyChanges['user']): Buffer {
  const entries = readUserSection(section);
  const spelling = new Map([...entries.keys()].map((name) => [name.toLowerCase(), name]));
  for (const [name, value] of changes) {
    const known = spelling.get(name.toLowerCase()) ?? name;
    if (value === undefined) entries.delete(known);
    else entries.set(known, encodeSqlValue(value));
  }
  return entries.size === 0 ? Buffer.alloc(0) : encodeMapSection('applicationProperties', entries);
}

function encodeSqlValue(value: Exclude<SqlResult, undefined>): Buffer {
  if (value === null) return encodedNull;
  if (typeof value === 'string') return encodeString(value);
  if (typeof value === 'boolean') return Buffer.from([value ? 0x41 : 0x42]);
  if (value instanceof Date) return encodeTimestamp(value.getTime());
  if (typeof value === 'number') {
    const encoded = Buffer.alloc(9, 0x82);
    encoded.writeDoubleBE(value, 1);
    return encoded;
  }
  if (Number.isSafeInteger(Number(value))) return encodeLong(Number(value));
  const encoded = Buffer.alloc(9, 0x81);
  encoded.writeBigInt64BE(BigInt.asIntN(64, value), 1);
  return encoded;
}
