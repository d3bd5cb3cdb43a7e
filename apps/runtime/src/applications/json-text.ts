import { getNodeValue, parseTree, printParseErrorCode, type ParseError } from 'jsonc-parser';

/** A value, or the reason why the text has none. */
type JsonText = { readonly value: unknown } | { readonly problem: string };

/**
 * Parses the JSON of configuration files. As in the official host, comments, trailing commas and a byte order mark are
 * allowed. A problem names the line and the column.
 */
export function parseJsonText(text: string): JsonText {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(plain, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (error) return { problem: `is not valid JSON: ${describe(error, plain)}` };
    // Its objects have no prototype, so a key named __proto__ is a key like any other.
    return { value: tree && getNodeValue(tree) };
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'is not valid JSON: it is nested too deeply' };
    throw error;
  }
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const explanations: Readonly<Record<string, string>> = {
  InvalidSymbol: 'a word or a sign that JSON does not have',
  InvalidNumberFormat: 'a number is not valid',
  PropertyNameExpected: 'a property name in double quotes is missing',
  ValueExpected: 'a value is missing',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'a closing brace is missing',
  CloseBracketExpected: 'a closing bracket is missing',
  EndOfFileExpected: 'more text follows the value',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a string is not closed on its line',
  UnexpectedEndOfNumber: 'a number is not complete',
  InvalidUnicode: 'a Unicode escape is not valid',
  InvalidEscapeCharacter: 'an escape in a string is not valid',
  InvalidCharacter: 'a string has a control character',
};

function describe({ error, offset }: ParseError, text: string): string {
  const code = printParseErrorCode(error);
  const before = text.slice(0, offset).split('\n');
  return `${explanations[code] ?? code} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}
