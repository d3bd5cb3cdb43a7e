import { formatDate } from './date-format.js';

/** The data that expressions refer to: JSON values by case-insensitive name. */
export type BindingData = Readonly<Record<string, unknown>>;

interface Expression {
  /** The text between the braces. */
  readonly text: string;
  readonly path: readonly string[];
  readonly format: string | undefined;
}

/** A text with expressions, compiled once for all invocations. */
export type BindingTemplate = readonly (string | Expression)[];

/** The sources of values that do not come from the trigger. */
export interface ExpressionContext {
  readonly functionName: string;
  readonly now: () => number;
  readonly uuid: () => string;
}

/** Encodes a value for the place where it is inserted, after `before`; or says why it must not be there. */
export type EncodeValue = (value: string, before: string) => Outcome;

type Evaluation = { readonly text: string } | { readonly failed: Expression; readonly reason: string };

/** Limit of a template and of its result, which names a queue or a file. */
const maxLength = 8_192;
// A literal, in which braces are doubled, or one expression. Any other brace is an error.
const piece = /((?:[^{}]|\{\{|\}\})+)|\{([^{}]+)\}/y;

/** Compiles a template such as `order-{id}-{DateTime:yyyy}`; `{{` and `}}` are literal braces. */
export function compileTemplate(text: string): { readonly template: BindingTemplate } | { readonly problem: string } {
  if (text.length > maxLength) return { problem: `is longer than ${maxLength} characters` };
  const template: (string | Expression)[] = [];
  piece.lastIndex = 0;
  while (piece.lastIndex < text.length) {
    const at = piece.lastIndex;
    const [matched, literal, inner] = piece.exec(text) ?? [];
    if (matched === undefined)
      return { problem: `has a brace without its counterpart at ${at}: ${text.slice(at, at + 40)}` };
    if (literal !== undefined) template.push(literal.replaceAll('{{', '{').replaceAll('}}', '}'));
    else {
      const expression = readExpression(inner ?? '');
      if (expression === undefined) return { problem: `has an expression without a name: ${matched}` };
      template.push(expression);
    }
  }
  return { template };
}

/** Whether the template has no expressions. */
export function isConstant(template: BindingTemplate): boolean {
  return template.every((part) => typeof part === 'string');
}

/** Replaces expressions with their values, as they are or encoded. Calls `data` only if an expression needs it. */
export function evaluateTemplate(
  template: BindingTemplate,
  data: () => BindingData,
  context: ExpressionContext,
  encode: EncodeValue = asIs,
): Evaluation {
  let text = '';
  for (const part of template) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const value = evaluate(part, data, context);
    const outcome = 'text' in value ? encode(value.text, text) : value;
    if ('reason' in outcome) return { failed: part, reason: outcome.reason };
    text += outcome.text;
    if (text.length > maxLength) return { failed: part, reason: `makes more than ${maxLength} characters` };
  }
  return { text };
}

function readExpression(inner: string): Expression | undefined {
  const [, name = '', format] = /^([^:]*)(?::(.*))?$/s.exec(inner) ?? [];
  const path = name.trim().split('.');
  return path.includes('') ? undefined : { text: inner, path, format };
}

type Outcome = { readonly text: string } | { readonly reason: string };

const asIs: EncodeValue = (text) => ({ text });

function evaluate({ path, format }: Expression, data: () => BindingData, context: ExpressionContext): Outcome {
  const name = path.join('.').toLowerCase();
  switch (name) {
    case 'rand-guid':
    case 'sys.randguid':
      return guid(context.uuid(), format);
    case 'datetime':
    case 'sys.utcnow':
      return { text: formatDate(context.now(), format) };
    case 'sys.methodname':
      return { text: context.functionName };
    default:
      return toText(lookUp(data(), path), format);
  }
}

function guid(uuid: string, format = 'D'): Outcome {
  switch (format.toUpperCase()) {
    case 'D':
      return { text: uuid };
    case 'N':
      return { text: uuid.replaceAll('-', '') };
    case 'B':
      return { text: `{${uuid}}` };
    case 'P':
      return { text: `(${uuid})` };
    default:
      return { reason: 'has an unknown format; use N, D, B or P' };
  }
}

/** Reads own properties only: `{constructor}` has a value only if the message has such a property. */
function lookUp(data: BindingData, path: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = property(value as BindingData, name); // checked to be an object
  }
  return value;
}

function property(value: BindingData, name: string): unknown {
  if (Object.hasOwn(value, name)) return value[name];
  const folded = name.toLowerCase();
  const found = Object.keys(value).find((key) => key.toLowerCase() === folded);
  return found === undefined ? undefined : value[found];
}

function toText(value: unknown, format: string | undefined): Outcome {
  if (value instanceof Date) return { text: formatDate(value.getTime(), format) };
  switch (typeof value) {
    case 'string':
      return { text: value };
    case 'number':
    case 'boolean':
    case 'bigint':
      return { text: String(value) };
    case 'undefined':
      return { reason: 'is not in the data of the trigger' };
    default:
      return { reason: value === null ? 'is null' : 'is a list or an object, not a text or a number' };
  }
}
