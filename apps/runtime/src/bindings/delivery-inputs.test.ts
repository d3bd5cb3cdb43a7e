import type { Delivery } from '@drover/trigger-sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindingOf } from './definition.test.fixture.js';
import { deliveryInputs, payloadByHand } from './delivery-inputs.js';

const collections = { TypedDataCollection: 'true' };

function inputs(data: Delivery['data'], options: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
  const {
    type = 'queueTrigger',
    capabilities = collections,
    ...rest
  } = options as { type?: string; capabilities?: Record<string, string> };
  const delivery = { data, metadata, deliveryCount: 1, traceparent: undefined };
  const made = deliveryInputs(bindingOf(type, rest), delivery);
  const { inputData, triggerMetadata } = made.inputs(capabilities);
  return { data: inputData[0]?.data, metadata: { ...triggerMetadata }, bindingData: made.bindingData() };
}

describe('a delivery for an object of an SDK', () => {
  const model = { version: '1.0', source: 'Kind', contentType: 'application/json', content: Buffer.from('{}') };
  const trigger = {
    name: 'item',
    type: 'serviceBusTrigger',
    direction: 'in',
    dataType: undefined,
    options: {},
  } as const;
  const delivery = { data: '{"id":5}', metadata: { MessageId: 'm' }, deliveryCount: 1, traceparent: undefined };

  it('sends what the worker creates it from, and has the metadata and the properties of the payload', () => {
    const one = deliveryInputs(trigger, { ...delivery, model });
    expect(one.inputs({}).inputData).toEqual([{ name: 'item', data: { modelBindingData: model } }]);
    expect(one.inputs({}).triggerMetadata).toMatchObject({ MessageId: { string: 'm' }, id: { string: '5' } });
    const many = deliveryInputs(trigger, { ...delivery, data: ['1', '2'], model: [model, model] });
    const data = { collectionModelBindingData: { modelBindingData: [model, model] } };
    expect(many.inputs({}).inputData).toEqual([{ name: 'item', data }]);
  });
});

describe('deliveryInputs', () => {
  const noText = Uint8Array.of(0xff, 0xfe);

  it.each([
    ['text', 'hello', {}, { string: 'hello' }],
    ['text, though the function takes bytes', 'é', { dataType: 'binary' }, { bytes: Buffer.from('é') }],
    ['bytes that are text', Buffer.from('é'), {}, { string: 'é' }],
    ['bytes that are no text', noText, {}, { bytes: noText }],
    ['bytes, for a function that takes them', Buffer.from('a'), { dataType: 'binary' }, { bytes: Buffer.from('a') }],
    ['a blob', Buffer.from('a'), { type: 'blobTrigger' }, { bytes: Buffer.from('a') }],
    ['a blob as text', Buffer.from('a'), { type: 'blobTrigger', dataType: 'string' }, { string: 'a' }],
    ['empty text', '', {}, { string: '' }],
    ['a batch', ['a', '"b"', '{"c":12345678901234567890}'], {}, { json: '["a","b",{"c":12345678901234567890}]' }],
    ['a batch of texts', ['a', '"b"'], { dataType: 'string' }, { collectionString: { string: ['a', '"b"'] } }],
    ['a batch with an empty entry', ['a', ''], { dataType: 'string' }, { json: '["a",""]' }],
    [
      'a batch with an empty entry, for a worker that keeps them',
      ['a', ''],
      { dataType: 'string', capabilities: { ...collections, IncludeEmptyEntriesInMessagePayload: '1' } },
      { collectionString: { string: ['a', ''] } },
    ],
    ['a batch for a worker without collections', ['1'], { dataType: 'string', capabilities: {} }, { json: '["1"]' }],
    ['a batch of bytes', [noText], { dataType: 'binary' }, { collectionBytes: { bytes: [noText] } }],
    ['a batch of bytes that are text', [Buffer.from('a')], {}, { json: '["a"]' }],
    ['a batch of bytes for a worker without collections', [noText], { capabilities: {} }, { json: '["//4="]' }],
    ['a timer', '{"IsPastDue":false}', { type: 'timerTrigger' }, { json: '{"IsPastDue":false}' }],
  ])('sends %s', (_, data, options, expected) => {
    expect(inputs(data, options).data).toEqual(expected);
  });

  it('writes metadata as the original does: whole numbers, flags and dates as JSON, text as text', () => {
    const { metadata } = inputs(
      'x',
      {},
      {
        Id: 'abc',
        DequeueCount: 2,
        Ratio: 0.5,
        Flag: true,
        InsertionTime: new Date(0),
        Properties: { a: 1 },
        IdArray: ['a', 'b'],
        SequenceNumberArray: [1, 2],
        Nothing: null,
        Missing: undefined,
      },
    );
    expect(metadata).toEqual({
      Id: { string: 'abc' },
      DequeueCount: { json: '2' },
      Ratio: { double: 0.5 },
      Flag: { json: 'true' },
      InsertionTime: { json: '"1970-01-01T00:00:00.000+00:00"' },
      Properties: { json: '{"a":1}' },
      IdArray: { collectionString: { string: ['a', 'b'] } },
      SequenceNumberArray: { json: '[1,2]' },
    });
  });

  it('adds properties of a JSON payload that are no lists, but never in place of what the source said', () => {
    const payload = JSON.stringify({ id: 5, name: 'x', ok: true, none: null, list: [1], deep: { a: 1 } });
    const { metadata, bindingData } = inputs(payload, {}, { Id: 'real' });
    expect(metadata).toEqual({
      Id: { string: 'real' },
      name: { string: 'x' },
      ok: { string: 'true' },
      deep: { json: '{"a":1}' },
    });
    expect(bindingData).toMatchObject({ id: 5, name: 'x', list: [1] });
  });

  it('repeats nothing of a large payload, though expressions find it', () => {
    const { metadata, bindingData } = inputs(JSON.stringify({ id: 5, big: 'x'.repeat(300_000) }));
    expect(metadata).toEqual({});
    expect(bindingData).toMatchObject({ id: 5 });
  });

  it('adds nothing for payloads that are no JSON object', () => {
    for (const payload of ['[1]', '"x"', '{', '5', '', ' {"a":']) expect(inputs(payload).metadata).toEqual({});
  });

  it('never throws and never touches a prototype, whatever is sent', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (payload) => {
        expect(inputs(payload, {}, { Id: 'x' }).metadata['Id']).toEqual({ string: 'x' });
      }),
    );
    const { metadata } = inputs('{"__proto__":{"polluted":1},"constructor":"c"}');
    expect(Object.keys(metadata)).toEqual(['__proto__', 'constructor']);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('the payload of a run by hand', () => {
  it.each([
    ['timerTrigger', '', '{"Schedule":{"AdjustForDST":true},"ScheduleStatus":null,"IsPastDue":false}'],
    ['timerTrigger', '{"IsPastDue":true}', '{"IsPastDue":true}'],
    ['warmupTrigger', '', '{}'],
    ['eventGridTrigger', ' {"id":"1"}', ' {"id":"1"}'],
    ['eventGridTrigger', 'hello', '"hello"'],
    ['queueTrigger', 'hello', 'hello'],
  ])('%s with %j is %s', (type, input, expected) => {
    expect(payloadByHand(bindingOf(type), input)).toBe(expected);
  });
});
