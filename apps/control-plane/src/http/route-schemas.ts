import serializers from '@fastify/fast-json-stringify-compiler';
import { Ajv, type AnySchema, type ErrorObject } from 'ajv';
import formatsPlugin from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import { withPlainUnions } from './plain-unions.js';
import { dropUnsetFields } from './unset-fields.js';

// Schemas are compiled at the first request of their route: all together take 0.7 s of CPU, and most routes are not called for hours.
// Without the optimizer of the generated code, which is 40 % of a compilation and which V8 makes needless.
const options = { removeAdditional: false, useDefaults: true, allErrors: false, code: { optimize: false } } as const;
// JSON bodies have types: a string is never converted to a number. Paths and queries are text, so their values are.
const strict = withFormats(new Ajv({ ...options, coerceTypes: false }));
const coercing = withFormats(new Ajv({ ...options, coerceTypes: true }));
const serializerOf = serializers.SerializerSelector()({}, { ajv: { code: options.code } });

/** Returns a validator that compiles its schema when it is first used. */
export const compileValidator: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
  if (httpPart === 'body') return bodyValidator(schema);
  const compiled = whenFirstUsed(() => coercing.compile(schema));
  const checked = (data: Readonly<Record<string, unknown>>): boolean => {
    const validate = compiled();
    const isValid = validate(data);
    // `Infinity`, or a number of four hundred digits, becomes a number that no bound applies to.
    const [name] = Object.entries(data).find(([, value]) => value === Infinity || value === -Infinity) ?? [];
    checked.errors = name === undefined ? (validate.errors ?? null) : [notFinite(name)];
    return isValid && name === undefined;
  };
  checked.errors = null as ErrorObject[] | null;
  return checked;
};

/** Returns a serializer that compiles its schema when it is first used. It writes the declared properties, and no others. */
export const compileSerializer: FastifySerializerCompiler<unknown> = ({ method, url, httpStatus = '200', schema }) => {
  const compiled = whenFirstUsed(() => serializerOf({ method, url, httpStatus, schema: withPlainUnions(schema) }));
  return (data) => compiled()(data);
};

function bodyValidator(schema: AnySchema): ReturnType<FastifySchemaCompiler<AnySchema>> {
  const compiled = whenFirstUsed(() => strict.compile(schema));
  const checked = (data: unknown): boolean => {
    const validate = compiled();
    if (typeof schema === 'object') dropUnsetFields(data, schema);
    const isValid = validate(data) === true;
    checked.errors = validate.errors ?? null;
    return isValid;
  };
  checked.errors = null as ErrorObject[] | null;
  return checked;
}

function notFinite(name: string): ErrorObject {
  return { keyword: 'type', instancePath: `/${name}`, schemaPath: '', params: {}, message: 'must be a finite number' };
}

function withFormats(ajv: Ajv): Ajv {
  // The plugin is CommonJS: its function is the default of its default.
  return formatsPlugin.default(ajv);
}

/** Makes the value at the first call. If that fails, the next call tries again. */
export function whenFirstUsed<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= make());
}
