import { Ajv, type AnySchema, type ErrorObject } from 'ajv';
import formatsPlugin from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import { dropUnsetFields } from './unset-fields.js';

// JSON bodies have types: a string is never converted to a number. Paths and queries are text, so their values are.
const strict = withFormats(
  new Ajv({ removeAdditional: false, useDefaults: true, coerceTypes: false, allErrors: false }),
);
const coercing = withFormats(
  new Ajv({ removeAdditional: false, useDefaults: true, coerceTypes: true, allErrors: false }),
);

/** One validator per schema, compiled once. */
export const compileValidator: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
  if (httpPart === 'body') return bodyValidator(schema);
  const validate = coercing.compile(schema);
  const checked = (data: Readonly<Record<string, unknown>>): boolean => {
    const isValid = validate(data);
    // `Infinity`, or a number of four hundred digits, becomes a number that no bound applies to.
    const [name] = Object.entries(data).find(([, value]) => value === Infinity || value === -Infinity) ?? [];
    checked.errors = name === undefined ? (validate.errors ?? null) : [notFinite(name)];
    return isValid && name === undefined;
  };
  checked.errors = null as ErrorObject[] | null;
  return checked;
};

function bodyValidator(schema: AnySchema): ReturnType<FastifySchemaCompiler<AnySchema>> {
  const validate = strict.compile(schema);
  const checked = (data: unknown): boolean => {
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
