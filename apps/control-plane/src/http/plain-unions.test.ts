import { collectionRoutes } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { withPlainUnions } from './plain-unions.js';
import { compileSerializer } from './route-schemas.js';

const constant = (value: string) => ({ type: 'string', const: value });

describe('withPlainUnions', () => {
  it('replaces unions of constants and plain types by their types, at any depth', () => {
    const state = { anyOf: [constant('READY'), constant('OFFLINE')], description: 'kept' };
    const limit = {
      anyOf: [{ type: 'integer', minimum: 1 }, { type: 'string', format: 'date-time' }, { type: 'null' }],
    };
    const schema = { type: 'object', properties: { state, limits: { type: 'array', items: limit } } };
    expect(withPlainUnions(schema)).toEqual({
      type: 'object',
      properties: {
        state: { type: 'string', description: 'kept' },
        limits: { type: 'array', items: { type: ['integer', 'string', 'null'] } },
      },
    });
  });

  it('leaves unions of objects and arrays as they are, and properties that are called anyOf', () => {
    const union = { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'null' }] };
    const named = { properties: { anyOf: { type: 'string' }, type: { type: 'string' } } };
    expect(withPlainUnions({ union, named })).toEqual({ union, named });
  });

  it('leaves no union in the answer to a definition, whose first one would wait for a validator of each type of field', () => {
    const { schema } = collectionRoutes.createCollection.responses[201];
    expect(JSON.stringify(schema)).toContain('"anyOf"');
    expect(JSON.stringify(withPlainUnions(schema))).not.toContain('"anyOf"');
  });

  it('writes values as before, and only those that are declared', () => {
    const until = { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] };
    const kind = { anyOf: [constant('A'), constant('B'), { type: 'number' }] };
    const schema = { type: 'object', properties: { until, kind } };
    const write = compileSerializer({ schema, method: 'GET', url: '/', httpStatus: '200' });
    expect(write({ until: new Date(0), kind: 'B', secret: 1 })).toBe('{"until":"1970-01-01T00:00:00.000Z","kind":"B"}');
    expect(write({ until: null, kind: 3 })).toBe('{"until":null,"kind":3}');
    expect(write({})).toBe('{}');
  });
});
