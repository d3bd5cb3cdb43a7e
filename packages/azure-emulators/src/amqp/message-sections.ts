import {
  compoundItems,
  encodeCompound,
  encodeString,
  encodeSymbol,
  MalformedMessage,
  valueEnd,
  variableBytes,
} from './amqp-bytes.js';

/** Message format of a transfer whose data sections are encoded messages. */
export const batchFormat = 0x80013700;

/**
 * An encoded message cut into its sections. Each slice has its descriptor and shares memory with the input.
 * `bare` is everything a broker passes on untouched: properties, application properties, body and footer.
 */
export interface MessageSections {
  readonly header: Buffer | undefined;
  readonly deliveryAnnotations: Buffer | undefined;
  readonly messageAnnotations: Buffer | undefined;
  readonly properties: Buffer | undefined;
  readonly applicationProperties: Buffer | undefined;
  /** Body sections (data, sequence or value) and footer. */
  readonly body: Buffer;
  readonly bare: Buffer;
}

const symbolicSections = new Map([
  ['amqp:header:list', 0x70],
  ['amqp:delivery-annotations:map', 0x71],
  ['amqp:message-annotations:map', 0x72],
  ['amqp:properties:list', 0x73],
  ['amqp:application-properties:map', 0x74],
  ['amqp:data:binary', 0x75],
  ['amqp:amqp-sequence:list', 0x76],
  ['amqp:value:*', 0x77],
  ['amqp:footer:map', 0x78],
]);

/** Where the section that begins at `at` has its value. Throws for bytes that begin no section. */
function sectionValue(encoded: Buffer, at: number): number {
  if (encoded[at] !== 0x00) throw new MalformedMessage(`byte ${at} does not begin a message section`);
  return encoded[at + 1] === 0x53 ? at + 3 : valueEnd(encoded, at + 1);
}

function sectionCode(encoded: Buffer, at: number, value: number): number {
  const type = encoded[at + 1];
  let code: number | undefined;
  if (type === 0x53) code = encoded[at + 2];
  else if (type === 0x80) code = encoded.readUInt32BE(at + 2) === 0 ? encoded.readUInt32BE(at + 6) : undefined;
  else code = symbolicSections.get(String(variableBytes(encoded.subarray(at + 1, value))));
  if (code === undefined || code < 0x70 || code > 0x78) {
    throw new MalformedMessage(`the descriptor at byte ${at} names no message section`);
  }
  return code;
}

/** Start and end of each section by its code from 0x70 on, in pairs; start = end for an absent one. Body sections count as one. */
const sectionCount = 9;
const outline = new Int32Array(2 * sectionCount);

/**
 * Finds the sections of a message and writes them to `outline`, which the next call overwrites: no slice for what a caller
 * does not look at. Returns false when the sections are not in order (storing batches of 500 small events in a hub: 1.5 → 1.1 µs of CPU per event).
 */
function outlineMessage(encoded: Buffer): boolean {
  outline.fill(encoded.length);
  let last = 0;
  for (let at = 0; at < encoded.length; ) {
    const value = sectionValue(encoded, at);
    const code = sectionCode(encoded, at, value);
    if (code < last) return false;
    if (code === last && code < 0x75) throw new MalformedMessage(`section 0x${code.toString(16)} stands twice`);
    const end = valueEnd(encoded, value);
    const slot = 2 * (code - 0x70);
    if (code !== last) outline[slot] = at;
    outline[slot + 1] = end;
    last = code;
    at = end;
  }
  return true;
}

/**
 * Finds the sections of a message. Returns the message that `outline` is about: with its sections in the order of the
 * specification, which everything that stores and sends them relies on. Some clients write them in another one.
 */
function outlineOrdered(encoded: Buffer): Buffer {
  if (outlineMessage(encoded)) return encoded;
  const sections: { readonly code: number; readonly bytes: Buffer }[] = [];
  for (let at = 0; at < encoded.length; ) {
    const value = sectionValue(encoded, at);
    const end = valueEnd(encoded, value);
    sections.push({ code: sectionCode(encoded, at, value), bytes: encoded.subarray(at, end) });
    at = end;
  }
  const ordered = Buffer.concat(sections.toSorted((one, other) => one.code - other.code).map(({ bytes }) => bytes));
  outlineMessage(ordered);
  return ordered;
}

function outlined(encoded: Buffer, code: number): Buffer | undefined {
  const slot = 2 * (code - 0x70);
  const start = outline[slot] ?? 0;
  return start === encoded.length ? undefined : encoded.subarray(start, outline[slot + 1]);
}

/** Where the first section with a code of at least `code` begins; the end of the message if there is none. */
function startFrom(encoded: Buffer, code: number): number {
  let start = encoded.length;
  for (let slot = 2 * (code - 0x70); slot < outline.length; slot += 2) start = Math.min(start, outline[slot] ?? start);
  return start;
}

/**
 * Writes the booleans of application properties in one byte (0x41, 0x42) where a client wrote two (0x56), as the cloud service does:
 * rhea, and so the SDK for JavaScript, reads the longer form as a number. Returns undefined if there is nothing to change.
 */
function shortBooleans(encoded: Buffer): Buffer | undefined {
  const section = outlined(encoded, 0x74);
  if (!section?.includes(0x56)) return undefined;
  const items = compoundItems(section, valueEnd(section, 1));
  if (!items?.some((item) => item[0] === 0x56)) return undefined;
  const changed = items.map((item) => (item[0] === 0x56 ? Buffer.from([item[1] === 0 ? 0x42 : 0x41]) : item));
  const at = outline[2 * (0x74 - 0x70)] ?? 0;
  return Buffer.concat([
    encoded.subarray(0, at),
    encodeCompound(0x74, 'map', changed),
    encoded.subarray(at + section.length),
  ]);
}

/** Finds the sections of a message for storing it: see `outlineOrdered` and `shortBooleans`. */
function outlineStored(message: Buffer): Buffer {
  const ordered = outlineOrdered(message);
  const changed = shortBooleans(ordered);
  if (changed) outlineMessage(changed);
  return changed ?? ordered;
}

/** Cuts an encoded message into sections. Throws `MalformedMessage` for anything else. */
export function splitMessage(message: Buffer): MessageSections {
  const encoded = outlineStored(message);
  return {
    header: outlined(encoded, 0x70),
    deliveryAnnotations: outlined(encoded, 0x71),
    messageAnnotations: outlined(encoded, 0x72),
    properties: outlined(encoded, 0x73),
    applicationProperties: outlined(encoded, 0x74),
    body: encoded.subarray(startFrom(encoded, 0x75)),
    bare: encoded.subarray(startFrom(encoded, 0x73)),
  };
}

/** Cuts off what a service replaces: like `splitMessage`, with fewer slices. */
export function splitAnnotations(message: Buffer): Pick<MessageSections, 'messageAnnotations' | 'bare'> {
  const encoded = outlineStored(message);
  return {
    messageAnnotations: outlined(encoded, 0x72),
    bare: encoded.subarray(startFrom(encoded, 0x73)),
  };
}

/** Returns the messages inside a batch envelope: the contents of its data sections. */
export function splitBatch(envelope: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < envelope.length; ) {
    const value = sectionValue(envelope, at);
    const end = valueEnd(envelope, value);
    if (sectionCode(envelope, at, value) === 0x75) {
      const type = envelope[value];
      if (type !== 0xa0 && type !== 0xb0) throw new MalformedMessage('a data section of the batch holds no binary');
      messages.push(envelope.subarray(value + (type === 0xa0 ? 2 : 5), end));
    }
    at = end;
  }
  return messages;
}

/** Reads a map section (annotations, application properties) as raw encoded values by key. An absent section is empty. */
export function readMapSection(section: Buffer | undefined): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  if (!section) return entries;
  const items = compoundItems(section, valueEnd(section, 1)) ?? [];
  for (let i = 0; i + 1 < items.length; i += 2) {
    const [key, value] = [items[i], items[i + 1]];
    const name = key && variableBytes(key);
    if (name && value) entries.set(name.toString(), value);
  }
  return entries;
}

const mapSections = {
  deliveryAnnotations: { code: 0x71, encodeKey: encodeSymbol },
  messageAnnotations: { code: 0x72, encodeKey: encodeSymbol },
  applicationProperties: { code: 0x74, encodeKey: encodeString },
} as const;

/** Encodes a map section from raw values: the counterpart of `readMapSection`. */
export function encodeMapSection(kind: keyof typeof mapSections, entries: Iterable<readonly [string, Buffer]>): Buffer {
  const { code, encodeKey } = mapSections[kind];
  const items: Buffer[] = [];
  for (const [key, value] of entries) items.push(encodeKey(key), value);
  return encodeCompound(code, 'map', items);
}

export interface AmqpHeader {
  readonly durable?: boolean;
  readonly priority?: number;
  readonly ttlMs?: number;
  readonly deliveryCount?: number;
}

/** Encodes a header with a delivery count: 0 for a first delivery. */
export function encodeHeader({ durable = true, priority, ttlMs, deliveryCount = 0 }: AmqpHeader): Buffer {
  const encoded = Buffer.alloc(20);
  encoded.set([0x00, 0x53, 0x70, 0xc0, 0, 5, durable ? 0x41 : 0x42]);
  let at = 7;
  if (priority === undefined) encoded[at++] = 0x40;
  else {
    encoded[at++] = 0x50;
    encoded[at++] = priority;
  }
  at = writeOptionalUint(encoded, at, ttlMs);
  encoded[at++] = 0x42; // first acquirer
  at = writeOptionalUint(encoded, at, deliveryCount);
  encoded[4] = at - 5;
  return encoded.subarray(0, at);
}

function writeOptionalUint(target: Buffer, at: number, value: number | undefined): number {
  if (value === undefined) {
    target[at] = 0x40;
    return at + 1;
  }
  if (value === 0) {
    target[at] = 0x43;
    return at + 1;
  }
  target[at] = 0x70;
  target.writeUInt32BE(Math.min(value, 0xffff_ffff) >>> 0, at + 1);
  return at + 5;
}

/** Sets the message id and keeps the encoded bytes of the other properties. SDKs cannot settle a message without an id. */
export function withMessageId(section: Buffer | undefined, messageId: string): Buffer {
  const items = section ? [...(compoundItems(section, valueEnd(section, 1)) ?? [])] : [];
  items[0] = encodeString(messageId);
  return encodeCompound(0x73, 'list', items);
}
