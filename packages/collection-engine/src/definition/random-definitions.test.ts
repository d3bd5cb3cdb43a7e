import { fieldTypes } from '@drover/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkDefinition } from './check-definition.js';

const context = { collections: new Map(), before: undefined, canEncrypt: true };
const word = fc.oneof(
  fc.constantFrom('a', 'b', 'id', 'order', '', 'a b', '__proto__', 'constructor', 'é'),
  fc.string(),
);
/** JSON that JavaScript cannot turn into a text or a number. */
const unconvertible = fc.constantFrom({ toString: {} }, [{ toString: 1, valueOf: 1 }]);
const odd = fc.oneof(word, fc.jsonValue(), unconvertible);
/** Definitions that are nearly right: known properties with any value. */
const field = fc.record(
  {
    name: word,
    type: fc.oneof(fc.constantFrom(...fieldTypes, 'number', 'string'), odd),
    required: fc.oneof(fc.boolean(), odd),
    unique: fc.oneof(fc.boolean(), odd),
    default: odd,
    constraints: fc.oneof(fc.record({ pattern: word, minLength: odd, maxValue: odd }, { requiredKeys: [] }), odd),
    values: fc.oneof(fc.array(word), odd),
    references: fc.oneof(fc.record({ collection: word, as: word }, { requiredKeys: ['collection'] }), odd),
    formula: fc.oneof(
      fc.record({
        expression: fc.oneof(word, fc.constantFrom('a + 1', 'a', 'b')),
        returns: fc.constantFrom('DOUBLE', 'STRING'),
      }),
      odd,
    ),
    rollup: fc.oneof(
      fc.record(
        { collection: word, via: word, function: fc.constantFrom('SUM', 'COUNT'), where: fc.dictionary(word, odd) },
        { requiredKeys: [] },
      ),
      odd,
    ),
    currency: fc.oneof(fc.record({ code: word, codeField: word }, { requiredKeys: [] }), odd),
    formerName: word,
  },
  { requiredKeys: ['name', 'type'] },
);
const definition = fc.oneof(
  odd,
  fc.record(
    {
      name: word,
      fields: fc.oneof(fc.array(field, { maxLength: 4 }), odd),
      uniqueSets: fc.oneof(fc.array(fc.array(word)), odd),
      indexes: fc.oneof(fc.array(fc.array(word)), odd),
      validationRules: fc.oneof(fc.array(fc.record({ name: word, errorCondition: word, errorMessage: word })), odd),
      displayField: odd,
      api: odd,
    },
    { requiredKeys: ['name', 'fields'] },
  ),
);

describe('any input', () => {
  it('is a definition that stays the same when it is checked again, or has problems with places that exist', () => {
    fc.assert(
      fc.property(definition, (input) => {
        const checked = checkDefinition(input, context);
        if ('definition' in checked) {
          expect(checkDefinition(JSON.parse(JSON.stringify(checked.definition)), context)).toEqual(checked);
          return;
        }
        expect(checked.problems.length).toBeGreaterThan(0);
        for (const { pointer, message } of checked.problems) {
          expect(pointer).toMatch(/^(\/|$)/);
          expect(message).toMatch(/^[\s\S]+[.?]$/);
        }
      }),
      { numRuns: 150 },
    );
  });
});
