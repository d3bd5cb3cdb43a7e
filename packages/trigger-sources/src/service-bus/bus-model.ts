import type { BindingModel } from '../trigger-source.js';
import type { BusMessage } from './bus-message.js';

/** Between the lock token and the message; extensions of workers look for it. */
const separator = Buffer.from('x-opt-lock-token');
/** Positions of the bytes of a GUID in the byte order of .NET, which is its own inverse. */
const guidOrder = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15] as const;

/**
 * Returns a message for an extension of a worker that creates the object of the SDK: the lock token as a GUID of .NET, a separator,
 * and the message in AMQP encoding. The codec is loaded at the first call: few functions ask for it.
 */
export async function toBusModel(message: BusMessage): Promise<BindingModel> {
  const { default: rhea } = await import('rhea');
  const { types } = rhea;
  const time = (atMs: number | undefined): unknown => (atMs === undefined ? undefined : types.wrap_timestamp(atMs));
  const annotations = defined({
    'x-opt-sequence-number':
      message.sequenceNumber === undefined ? undefined : types.wrap_long(longOf(message.sequenceNumber)),
    'x-opt-enqueued-time': time(message.enqueuedAtMs),
    'x-opt-locked-until': time(message.lockedUntilMs),
    'x-opt-scheduled-enqueue-time': time(message.scheduledAtMs),
    'x-opt-partition-key': message.partitionKey,
    'x-opt-deadletter-source': message.deadLetterSource,
    'x-opt-message-state': types.wrap_int(message.state),
  });
  const encoded = rhea.message.encode({
    delivery_count: message.deliveryCount - 1,
    message_annotations: annotations,
    application_properties: message.properties,
    body: rhea.message.data_section(message.body),
    ...defined({
      ttl: message.timeToLiveMs !== undefined && message.timeToLiveMs < 2 ** 32 ? message.timeToLiveMs : undefined,
      message_id: message.messageId,
      correlation_id: message.correlationId,
      content_type: message.contentType,
      subject: message.subject,
      to: message.to,
      reply_to: message.replyTo,
      group_id: message.sessionId,
      reply_to_group_id: message.replyToSessionId,
    }),
  });
  return {
    version: '1.0',
    source: 'AzureServiceBusReceivedMessage',
    contentType: 'application/octet-stream',
    content: Buffer.concat([guidBytes(message.lockToken), separator, encoded]),
  };
}

/** As bytes, because a number of JavaScript is not exact. */
function longOf(number: number | string): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return bytes;
}

function guidBytes(token: string | undefined): Buffer {
  const bytes = Buffer.from((token ?? '').replaceAll('-', ''), 'hex');
  return Buffer.from(guidOrder.map((from) => bytes[from] ?? 0));
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
