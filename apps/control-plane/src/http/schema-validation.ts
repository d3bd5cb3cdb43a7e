import { Ajv, type AnySchema } from 'ajv';
import formatsPlugin from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';

// Bodies are typed already: a string is never taken for a number. Addresses are all text, so there it is.
const strict = withFormats(
  new Ajv({ removeAdditional: false, useDefaults: true, coerceTypes: false, allErrors: false }),
);
const coercing = withFormats(
  new Ajv({ removeAdditional: false, useDefaults: true, coerceTypes: true, allErrors: false }),
);

/** One validator per schema, compiled once. */
export const compileValidator: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) =>
  (httpPart === 'body' ? strict : coercing).compile(schema);

function withFormats(ajv: Ajv): Ajv {
  // The plugin is CommonJS: its function is the default of its default.
  return formatsPlugin.default(ajv);
}
