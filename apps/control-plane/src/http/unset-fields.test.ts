import { CompletionBody, FunctionSpec } from '@drover/contracts';
import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { dropUnsetFields } from './unset-fields.js';

const dropped = (schema: object, value: unknown): unknown => {
  dropUnsetFields(value, schema);
  return value;
};

describe('fields that are null', () => {
  it('are absent, at every level that the schema declares', () => {
    expect(
      dropped(FunctionSpec, {
        name: 'f',
        image: null,
        command: null,
        env: { A: '1', B: null },
        executionMode: null,
        resources: { requests: null, limits: { cpu: null, memoryMiB: 64 } },
        scalingConfig: { metrics: [{ type: 'rps', target: '5', query: null }], concurrencyControl: null },
      }),
    ).toEqual({
      name: 'f',
      env: { A: '1' },
      resources: { limits: { memoryMiB: 64 } },
      scalingConfig: { metrics: [{ type: 'rps', target: '5' }] },
    });
  });

  it('stay where null is a value: in data of any type, and where the schema declares it', () => {
    const schema = Type.Object({
      input: Type.Unknown(),
      note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    });
    const value = { input: { a: null }, note: null };
    expect(dropped(schema, structuredClone(value))).toEqual(value);
    expect(dropped(schema, { input: null })).toEqual({ input: null });
  });

  it('are absent inside an object that may itself be null', () => {
    expect(
      dropped(CompletionBody, { success: false, statusCode: null, error: { code: null, message: 'm' }, output: null }),
    ).toEqual({ success: false, error: { message: 'm' }, output: null });
  });

  it('stay in lists, and under names that the schema does not know', () => {
    const value = { name: 'f', command: [null], unknown: null };
    expect(dropped(FunctionSpec, structuredClone(value))).toEqual(value);
  });
});
