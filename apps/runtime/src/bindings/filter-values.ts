import type { EncodeValue } from './binding-expressions.js';

/** Literals of OData that need no quotes around the expression: numbers, booleans, and typed ones with quotes of their own. */
const literal = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?L?|true|false|(?:guid|datetime|binary|X)'[\w:.+-]*')$/i;

/**
 * Encodes a value for the OData filter of a table, so that data of a caller cannot change what the filter means. In a text its
 * quotes are doubled. Outside of texts only literals are allowed.
 */
export const encodeFilterValue: EncodeValue = (value, before) => {
  const isInText = (before.split("'").length - 1) % 2 === 1;
  if (isInText) return { text: value.replaceAll("'", "''") };
  if (literal.test(value)) return { text: value };
  return { reason: "is a text, which needs quotes around it in a filter: '{…}'" };
};
