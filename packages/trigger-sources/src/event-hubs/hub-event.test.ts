import rhea, { type Message } from 'rhea';
import { describe, expect, it } from 'vitest';
import { toHubEvent } from './hub-event.js';

const at = new Date('2030-01-01T00:00:00.123Z');
const annotations = {
  'x-opt-sequence-number': 7,
  'x-opt-offset': '700',
  'x-opt-enqueued-time': at,
  'x-opt-partition-key': 'k',
};
const convert = (message: Partial<Message>) =>
  toHubEvent({ message_annotations: annotations, body: undefined, ...message });

describe('an event of a hub', () => {
  it('has its position, its key and everything else by name', () => {
    const message = {
      message_annotations: { ...annotations, 'x-opt-custom': new Date(0) },
      application_properties: { tries: 2, at, raw: Buffer.from('x') },
      body: rhea.message.data_section(Buffer.from('body')),
      message_id: 'm',
      content_type: 'text/plain',
    };
    expect(convert(message)).toEqual({
      sequenceNumber: 7,
      offset: '700',
      enqueuedAtMs: at.getTime(),
      partitionKey: 'k',
      body: Buffer.from('body'),
      properties: { tries: 2, at: at.toISOString(), raw: 'eA==' },
      systemProperties: {
        SequenceNumber: 7,
        Offset: '700',
        PartitionKey: 'k',
        EnqueuedTimeUtc: '2030-01-01T00:00:00.123Z',
        'x-opt-custom': '1970-01-01T00:00:00.000Z',
        'message-id': 'm',
        'content-type': 'text/plain',
      },
      isFinished: false,
    });
  });

  it('has bytes of one or several data sections, text, or JSON of other values as its body', () => {
    const several = rhea.message.data_sections([Buffer.from('a'), Buffer.from('b')]);
    expect(convert({ body: several }).body).toEqual(Buffer.from('ab'));
    expect(convert({ body: 'text' }).body).toBe('text');
    expect(convert({ body: { a: [1, true] } }).body).toBe('{"a":[1,true]}');
    expect(convert({ body: rhea.message.sequence_section([1, 2]) }).body).toBe('[1,2]');
    expect(convert({}).body).toBe('');
  });
});
