import { encodeBinary, encodeCompound, encodeString, encodeSymbol } from '../amqp/amqp-bytes.js';
import { encodeMapSection, splitBatch } from '../amqp/message-sections.js';
import { decodeValue } from '../amqp/values.js';
import type { TypedMessage } from '../entity-console.js';
import { decodeContent, type EncodedContent } from './wire/encoded-content.js';

const dataSection = 0x75;
const maxShownBytes = 64 * 1024;
const encodedNull = Buffer.from([0x40]);

/** The body of a message for people: text as it is, an AMQP value as JSON. */
export function bodyText(content: EncodedContent): { text: string; isCut: boolean } {
  const { body } = content;
  const bytes = body[2] === dataSection ? Buffer.concat(splitBatch(body)) : Buffer.from(valueText(body));
  return { text: bytes.toString('utf8', 0, maxShownBytes), isCut: bytes.length > maxShownBytes };
}

function valueText(body: Buffer): string {
  if (body.length === 0) return '';
  const value = decodeValue(body);
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Properties that are set, by the names the SDKs use. */
export function shownProperties(content: EncodedContent): Record<string, string> {
  const names = {
    correlationId: 'correlationid',
    subject: 'label',
    to: 'to',
    replyTo: 'replyto',
    contentType: 'contenttype',
  } as const;
  const shown: Record<string, string> = { messageId: content.messageId };
  if (content.sessionId !== undefined) shown['sessionId'] = content.sessionId;
  for (const [name, property] of Object.entries(names)) {
    const value = content.system(property);
    if (value !== undefined) shown[name] = String(value);
  }
  for (const [name, value] of content.userProperties())
    shown[name] = value instanceof Date ? value.toISOString() : String(value);
  return shown;
}

/** Encodes a message that a developer typed: its body is the UTF-8 text, without any wrapping. */
export function encodeTyped(message: TypedMessage): EncodedContent {
  const fields: Buffer[] = Array.from({ length: 11 }, () => encodedNull);
  if (message.contentType !== undefined) fields[6] = encodeSymbol(message.contentType);
  if (message.sessionId !== undefined) fields[10] = encodeString(message.sessionId);
  const sections = [encodeCompound(0x73, 'list', fields)];
  if (message.partitionKey !== undefined) {
    sections.unshift(
      encodeMapSection('messageAnnotations', [['x-opt-partition-key', encodeString(message.partitionKey)]]),
    );
  }
  const properties = Object.entries(message.properties ?? {}).map(
    ([name, value]) => [name, encodeString(value)] as const,
  );
  if (properties.length > 0) sections.push(encodeMapSection('applicationProperties', properties));
  sections.push(Buffer.from([0x00, 0x53, dataSection]), encodeBinary(Buffer.from(message.body)));
  return decodeContent(Buffer.concat(sections));
}
