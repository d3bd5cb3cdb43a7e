import rhea, { type Message } from 'rhea';
import { describe, expect, it } from 'vitest';
import { ofRheaMessage } from './bus-message.js';
import { toBusModel } from './bus-model.js';

/** The two declarations of a message of rhea differ in its body. */
const decode = (bytes: Buffer): Message => rhea.message.decode(bytes) as unknown as Message;

const lockToken = '00112233-4455-6677-8899-aabbccddeeff';

describe('toBusModel', () => {
  it('writes the lock token, the separator and the message, as extensions of workers read them', async () => {
    const sent = {
      body: rhea.message.data_section(Buffer.from('{"a":1}')),
      delivery_count: 2,
      message_id: 'm',
      content_type: 'application/json',
      subject: 's',
      group_id: 'session',
      application_properties: { text: 'x', number: 5, truth: true },
      message_annotations: {
        'x-opt-sequence-number': rhea.types.wrap_long(7),
        'x-opt-enqueued-time': rhea.types.wrap_timestamp(1_000),
      },
    };
    const message = ofRheaMessage(decode(rhea.message.encode(sent)), { deliveryId: 1, lockToken });
    const model = await toBusModel(message);
    expect(model).toMatchObject({ version: '1.0', source: 'AzureServiceBusReceivedMessage' });
    const bytes = Buffer.from(model.content);
    const at = bytes.indexOf('x-opt-lock-token');
    expect(bytes.subarray(0, at).toString('hex')).toBe('33221100554477668899aabbccddeeff'); // a GUID of .NET
    const read = decode(bytes.subarray(at + 'x-opt-lock-token'.length));
    expect(ofRheaMessage(read, { deliveryId: 1, lockToken })).toEqual(message);
  });
});
