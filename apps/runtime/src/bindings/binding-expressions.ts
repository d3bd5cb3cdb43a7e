import { formatDate } from './date-format.js';

/** What expressions may name: names and JSON values, found without regard to case. */
export type BindingData = Readonly<Record<string, unknown>>;

interface Expression {
  /** As it stands between the braces. */
  readonly text: string;
  readonly path: readonly string[];
  readonly format: string | undefined;
}

/** A text with expressions in it, read once for all invocations. */
export type BindingTemplate = readonly (string | Expression)[];

/** What an evaluation takes from outside. */
export interface Surroundings {
  readonly functionName: string;
  readonly now: () => number;
  readonly uuid: () => string;
}

type Evaluation = { readonly text: string } | { readonly failed: Expression; readonly reason: string };

/** Of a template, and of what comes out of it: they name queues and files. */
const maxLength = 8_192;
// Literals with doubled braces in them, or one expression; every other brace is a mistake.
const piece = /((?:[^{}]|\{\{|\}\})+)|\{([^{}]+)\}/y;

/** Reads `order-{id}-{DateTime:yyyy}`; `{{` and `}}` are braces. */
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

/** True when it is the same text for every invocation. */
export function isConstant(template: BindingTemplate): boolean {
  return template.every((part) => typeof part === 'string');
}

/** Puts values in place of expressions; `data` is asked for only if there are any. */
export function evaluateTemplate(
  template: BindingTemplate,
  data: () => BindingData,
  surroundings: Surroundings,
): Evaluation {
  let text = '';
  for (const part of template) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const outcome = evaluate(part, data, surroundings);
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

function evaluate({ path, format }: Expression, data: () => BindingData, surroundings: Surroundings): Outcome {
  const name = path.join('.').toLowerCase();
  switch (name) {
    case 'rand-guid':
    case 'sys.randguid':
      return guid(surroundings.uuid(), format);
    case 'datetime':
    case 'sys.utcnow':
      return { text: formatDate(surroundings.now(), format) };
    case 'sys.methodname':
      return { text: surroundings.functionName };
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
      return { reason: 'has an unknown format; there are N, D, B and P' };
  }
}

/** Own properties only: `{constructor}` names nothing unless the sender named something so. */
function lookUp(data: BindingData, path: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = property(value as BindingData, name); // an object, as was just seen
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
      return { reason: 'names nothing that the trigger brought' };
    default:
      return { reason: value === null ? 'is null' : 'is not a text or a number but a list or an object' };
  }
}
