import {
  compoundItems,
  encodeCompound,
  encodeInt,
  encodeString,
  encodeSymbol,
  MalformedMessage,
  valueEnd,
  variableBytes,
} from './amqp-bytes.js';
import type { ManagementReply } from './amqp-service.js';
import { encodeMapSection, splitMessage } from './message-sections.js';
import { decodeValue, encodeValue } from './values.js';

/** What a request node reads of a message. */
export interface NodeRequest {
  /** As it was encoded: the reply's correlation id repeats it with its type. */
  readonly messageId: Buffer;
  readonly replyTo: string | undefined;
  readonly applicationProperties: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

const encodedNull = Buffer.from([0x40]);
const propertiesCode = 0x73;
const replyToField = 4;
const valueSection = Buffer.from([0x00, 0x53, 0x77]);
/** Types of a message id: null, ulong, uuid, binary and string. */
const idCodes = new Set<number | undefined>([0x40, 0x44, 0x53, 0x80, 0x98, 0xa0, 0xb0, 0xa1, 0xb1]);

/** Decodes a request. Returns undefined for bytes that are no message. */
export function decodeRequest(payload: Buffer): NodeRequest | undefined {
  try {
    const { properties, applicationProperties, body } = splitMessage(payload);
    const fields = properties === undefined ? [] : (compoundItems(properties, valueEnd(properties, 1)) ?? []);
    const replyTo = fields[replyToField];
    return {
      messageId: fields[0] ?? encodedNull,
      replyTo: replyTo && variableBytes(replyTo)?.toString(),
      applicationProperties:
        applicationProperties === undefined ? {} : (decodeValue(applicationProperties) as Record<string, unknown>), // a map section
      body: body.length === 0 ? undefined : decodeValue(body),
    };
  } catch {
    return undefined;
  }
}

/** Status in both spellings: SDKs read one or the other. Throws for an id that is no message id. */
export function encodeReply({ messageId }: NodeRequest, reply: ManagementReply): Buffer {
  if (!idCodes.has(messageId[0])) throw new MalformedMessage('the message id is no string, ulong, uuid or binary');
  const status = encodeInt(reply.status);
  const description = encodeString(reply.description ?? '');
  const condition = reply.condition === undefined ? undefined : encodeSymbol(reply.condition);
  const fields = [encodedNull, encodedNull, encodedNull, encodedNull, encodedNull, messageId];
  return Buffer.concat([
    encodeCompound(propertiesCode, 'list', fields),
    encodeMapSection('applicationProperties', [
      ['status-code', status],
      ['statusCode', status],
      ['status-description', description],
      ['statusDescription', description],
      ...(condition
        ? ([
            ['error-condition', condition],
            ['errorCondition', condition],
          ] as const)
        : []),
    ]),
    valueSection,
    encodeValue(reply.body ?? {}),
  ]);
}
