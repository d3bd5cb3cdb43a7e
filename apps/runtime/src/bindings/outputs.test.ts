import type { InvocationResponseInit } from '@drover/function-rpc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { definitionOf, httpFunction, responseOf } from './definition.test.fixture.js';
import { splitJsonArray } from './json-array.js';
import { toOutputMessages } from './output-messages.js';
import { compileOutputs } from './outputs.js';
import { findUnsupported, takesWhole, unsupportedBindings } from './supported-bindings.js';

const trigger = { name: 'item', type: 'queueTrigger', direction: 'in', queueName: 'in' };
const queue = { name: 'out1', type: 'queue', direction: 'out', queueName: 'done-{id}', connection: 'Storage' };
const supported = {
  triggers: new Set(['queueTrigger', 'httpTrigger']),
  inputs: new Set<string>(),
  outputs: new Set(['http', 'queue']),
  wholeOutputs: new Set<string>(),
};
const io = { now: () => 0, uuid: () => 'uuid' };
const texts = (data: Parameters<typeof toOutputMessages>[0]) => {
  const converted = toOutputMessages(data);
  return 'messages' in converted ? converted.messages.map(({ body }) => body) : converted.problem;
};

describe('toOutputMessages', () => {
  const bytes = Uint8Array.of(1);
  it.each([
    [undefined, []],
    [{}, []],
    [{ string: 'x' }, ['x']],
    [{ string: '' }, ['']],
    [{ string: '{"a":1}' }, ['{"a":1}']],
    [{ string: '[1,"b",{"c":2}]' }, ['1', 'b', '{"c":2}']],
    [{ string: '[not json]' }, ['[not json]']],
    [{ json: 'null' }, []],
    [{ json: '[]' }, []],
    [{ json: '["a",null,{"b":1},[2],true]' }, ['a', '{"b":1}', '[2]', 'true']],
    [{ json: '{"id":12345678901234567890}' }, ['{"id":12345678901234567890}']],
    [{ json: '[{"id":12345678901234567890}]' }, ['{"id":12345678901234567890}']],
    [{ json: '"text"' }, ['text']],
    [{ json: 'true' }, ['true']],
    [{ json: '{' }, 'the worker sent JSON that cannot be parsed'],
    [{ bytes }, [bytes]],
    [{ int: 5 }, ['5']],
    [{ int: 5n }, ['5']],
    [{ double: 0.5 }, ['0.5']],
    [{ collectionString: { string: ['a', 'b'] } }, ['a', 'b']],
    [{ collectionBytes: { bytes: [bytes] } }, [bytes]],
    [{ collectionDouble: { double: [1.5] } }, ['1.5']],
    [{ collectionSint64: { sint64: [1, 2n] } }, ['1', '2']],
  ])('sends value %# as its messages', (data, expected) => {
    expect(texts(data)).toEqual(expected);
  });

  it('splits any JSON array into its elements', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), (values, indent) => {
        const elements = splitJsonArray(JSON.stringify(values, undefined, indent));
        expect(elements.map((element) => JSON.parse(element) as unknown)).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });
});

describe('whole outputs', () => {
  const whole = (data: Parameters<typeof toOutputMessages>[0]) => toOutputMessages(data, true);
  const bytes = Uint8Array.of(1, 2);
  it.each([
    [{ json: '[1,{"a":2}]' }, '[1,{"a":2}]'],
    [{ string: '["a","b"]' }, '["a","b"]'],
    [{ json: '{"a":1}' }, '{"a":1}'],
    [{ json: '"text"' }, 'text'],
    [{ bytes }, bytes],
    [{ int: 5 }, '5'],
  ])('are one message, also for an array: %j', (data, body) => {
    expect(whole(data)).toEqual({ messages: [{ body }] });
  });

  it('are nothing for null and undefined', () => {
    expect([whole(undefined), whole({ json: 'null' })]).toEqual([{ messages: [] }, { messages: [] }]);
  });

  it('are chosen by the type of their binding, whatever its case', () => {
    const blob = { name: 'copy', type: 'BLOB', direction: 'out', path: 'box/{id}' };
    const supportedTypes = { ...supported, outputs: new Set(['blob', 'queue']), wholeOutputs: new Set(['blob']) };
    const compiled = compileOutputs(definitionOf('work', trigger, blob, queue), [], (binding) =>
      takesWhole(binding, supportedTypes),
    );
    if ('problem' in compiled) throw new Error(compiled.problem);
    const data = { json: '[1,2]' };
    const response = responseOf({
      outputData: [
        { name: 'copy', data },
        { name: 'out1', data },
      ],
    });
    const plans = compiled.value.plan(response, () => ({ id: 7 }), io);
    expect(plans.map(({ messages }) => messages.map(({ body }) => body))).toEqual([['[1,2]'], ['1', '2']]);
    expect(plans[0]?.options).toMatchObject({ path: 'box/7' });
  });
});

describe('output plans', () => {
  function plan(response: InvocationResponseInit, data: object, ...bindings: readonly object[]) {
    const compiled = compileOutputs(definitionOf('work', trigger, ...bindings));
    if ('problem' in compiled) return compiled.problem;
    const plans = compiled.value.plan(responseOf(response), () => ({ ...data }), io);
    return plans.map(({ binding, options, messages }) => [
      binding.name,
      options['queueName'],
      messages.map(({ body }) => body),
    ]);
  }

  it('send what was set by name, where the expression says', () => {
    expect(plan({ outputData: [{ name: 'out1', data: { json: '["a","b"]' } }] }, { id: 7 }, queue)).toEqual([
      ['out1', 'done-7', ['a', 'b']],
    ]);
  });

  it('send what was returned through the return binding', () => {
    const returned = { ...queue, name: '$return', queueName: 'done' };
    expect(plan({ returnValue: { string: 'x' } }, {}, returned)).toEqual([['$return', 'done', ['x']]]);
  });

  it('take a returned object apart when there is no return binding, and what was set by name wins', () => {
    const other = { ...queue, name: 'out2', queueName: 'two' };
    const response = {
      outputData: [{ name: 'out1', data: { string: 'set' } }],
      returnValue: { json: '{"out1":"returned","out2":{"a":1},"toString":"x"}' },
    };
    expect(plan(response, { id: 1 }, queue, other)).toEqual([
      ['out1', 'done-1', ['set']],
      ['out2', 'two', ['{"a":1}']],
    ]);
  });

  it('send nothing for null, for undefined, and for a return value without a binding', () => {
    expect(plan({ outputData: [{ name: 'out1', data: { json: 'null' } }] }, {}, queue)).toEqual([]);
    expect(plan({}, {}, queue)).toEqual([]);
    expect(plan({ returnValue: { string: 'x' } }, {}, queue)).toEqual([]);
    expect(plan({ returnValue: { json: '[1]' } }, {}, queue)).toEqual([]);
  });

  it('name function, binding and expression when something is missing', () => {
    expect(() => plan({ outputData: [{ name: 'out1', data: { string: 'x' } }] }, {}, queue)).toThrow(
      'Function work, binding "out1": {id} is not in the data of the trigger',
    );
  });

  it('fail for what cannot be a message', () => {
    const response = { outputData: [{ name: 'out1', data: { http: {} } }] } as InvocationResponseInit;
    expect(() => plan(response, { id: 1 }, queue)).toThrow('Function work, output "out1": an HTTP response');
  });

  it('are refused before anything runs when an expression is not well written', () => {
    expect(plan({}, {}, { ...queue, queueName: 'a-{id' })).toContain('binding "out1": its queueName has a brace');
  });

  it('that are not supported fail a function that sets them, and no other', () => {
    const definition = httpFunction('hello', {}, { ...queue, type: 'table', tableName: '{not' });
    const compiled = compileOutputs(definition, unsupportedBindings(definition, supported));
    if ('problem' in compiled) throw new Error(compiled.problem);
    const planned = (response: InvocationResponseInit) => compiled.value.plan(responseOf(response), () => ({}), io);
    expect(compiled.value.isEmpty).toBe(false);
    expect(planned({ outputData: [{ name: 'out1', data: { json: 'null' } }] })).toEqual([]);
    expect(planned({})).toEqual([]);
    expect(() => planned({ outputData: [{ name: 'out1', data: { json: '{"a":1}' } }] })).toThrow(
      'Function hello set its output "out1", but outputs of the type table are not supported',
    );
  });

  it('leave the HTTP response to others', () => {
    const compiled = compileOutputs(httpFunction('hello'));
    expect(compiled).toMatchObject({ value: { isEmpty: true } });
  });
});

describe('findUnsupported', () => {
  it.each([
    [[trigger, queue], undefined],
    [
      [
        { ...trigger, type: 'QUEUETRIGGER' },
        { ...queue, type: 'Queue' },
      ],
      undefined,
    ],
    [
      [{ ...trigger, type: 'kafkaTrigger' }],
      'trigger type kafkaTrigger is not supported; supported are httpTrigger, queueTrigger. Send the events to an event hub and use an eventHubTrigger, or call an httpTrigger from a Kafka consumer',
    ],
    [
      [trigger, { ...queue, type: 'table' }],
      'output binding "out1" has the type table, which is not supported; supported are http, queue. Remove the binding, or use a client of the service in the function',
    ],
    [
      [trigger, { name: 'b', type: 'blob', direction: 'in' }],
      'input binding "b" has the type blob, which is not supported; supported are none. Remove the binding, or use a client of the service in the function',
    ],
    [
      [
        { ...trigger, type: 'httpTrigger' },
        { ...queue, type: 'table' },
        { name: 'b', type: 'blob', direction: 'in' },
      ],
      undefined,
    ],
    [
      [{ ...trigger, type: 'kafkaTrigger' }, queue],
      'trigger type kafkaTrigger is not supported; supported are httpTrigger, queueTrigger. Send the events to an event hub and use an eventHubTrigger, or call an httpTrigger from a Kafka consumer',
    ],
  ])('%j', (bindings, problem) => {
    expect(findUnsupported(definitionOf('work', ...bindings), supported)?.problem).toBe(problem);
  });

  it.each([
    'cosmosDBTrigger',
    'sqlTrigger',
    'mysqlTrigger',
    'kafkaTrigger',
    'rabbitMQTrigger',
    'signalRTrigger',
    'webPubSubTrigger',
    'orchestrationTrigger',
    'activityTrigger',
    'entityTrigger',
  ])('names %s in one line and says what to do instead', (type) => {
    const problem = findUnsupported(definitionOf('work', { ...trigger, type: type.toLowerCase() }), supported)?.problem;
    expect(problem).toContain(`trigger type ${type} is not supported`);
    expect(problem).toMatch(/\. (Read|Poll|Send|Move|Set|Durable Functions)[^\n]+$/);
  });
});
