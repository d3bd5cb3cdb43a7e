import { SqlError } from './sql-values.js';

/** `word` is a regular identifier or a keyword; `name` an identifier in brackets or double quotes, never a keyword. */
export interface SqlToken {
  readonly kind: 'word' | 'name' | 'string' | 'integer' | 'decimal' | 'parameter' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
}

const word = /[\p{L}_][\p{L}\p{Nd}_]*/uy;
const number = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const symbol = /<>|<=|>=|!=|[=<>+\-*/%(),.;]/y;
const quotes: Readonly<Record<string, { close: string; kind: SqlToken['kind'] }>> = {
  "'": { close: "'", kind: 'string' },
  '"': { close: '"', kind: 'name' },
  '[': { close: ']', kind: 'name' },
};

/** Splits an expression into tokens and ends the list with one `end` token. */
export function tokenizeSql(text: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let at = 0;
  while (at < text.length) {
    const first = text.charAt(at);
    if (/\s/.test(first)) {
      at += 1;
      continue;
    }
    const quote = quotes[first];
    const token = quote === undefined ? readPlain(text, at) : undefined;
    if (quote !== undefined) {
      const { value, end } = readQuoted(text, at, quote.close);
      tokens.push({ kind: quote.kind, text: value, at });
      at = end;
    } else if (token !== undefined) {
      tokens.push(token);
      at += token.text.length;
    } else {
      throw new SqlError(`Unexpected character "${first}" at position ${at + 1} of the expression.`);
    }
  }
  tokens.push({ kind: 'end', text: '', at });
  return tokens;
}

function readPlain(text: string, at: number): SqlToken | undefined {
  if (text.charAt(at) === '@') {
    const name = matchAt(word, text, at + 1);
    return name === undefined ? undefined : { kind: 'parameter', text: `@${name}`, at };
  }
  const identifier = matchAt(word, text, at);
  if (identifier !== undefined) return { kind: 'word', text: identifier, at };
  const digits = matchAt(number, text, at);
  if (digits !== undefined) return { kind: /^\d+$/.test(digits) ? 'integer' : 'decimal', text: digits, at };
  const sign = matchAt(symbol, text, at);
  return sign === undefined ? undefined : { kind: 'symbol', text: sign, at };
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Reads up to the closing quote; a doubled closing quote stands for one. */
function readQuoted(text: string, start: number, close: string): { value: string; end: number } {
  let value = '';
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character !== close) {
      value += character;
    } else if (text.charAt(at + 1) === close) {
      value += close;
      at += 1;
    } else {
      return { value, end: at + 1 };
    }
  }
  throw new SqlError(`The quote at position ${start + 1} of the expression is not closed. Add the closing ${close}.`);
}
