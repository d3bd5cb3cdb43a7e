/** A value, or why there is none. */
export type JsonText = { readonly value: unknown } | { readonly problem: string };

/**
 * Reads the JSON of configuration files as the original does: comments, trailing commas and a byte order mark are fine.
 * What is not says where.
 */
export function parseJsonText(text: string): JsonText {
  try {
    return { value: JSON.parse(toPlainJson(text)) as unknown };
  } catch (error) {
    return { problem: `is not valid JSON: ${explain(error, text)}` };
  }
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The text with blanks in place of comments and of commas that end a list, so that positions stay true. One pass, since the
 * file is a stranger's: an expression that looks ahead would take the square of its length for a hostile one.
 */
function toPlainJson(text: string): string {
  const parts: string[] = [];
  let kept = 0; // everything before it is in `parts`
  let comma = -1; // a comma with nothing but blanks and comments since
  const blank = (from: number, to: number): void => {
    parts.push(text.slice(kept, from), text.slice(from, to).replaceAll(/[^\n\r]/g, ' '));
    kept = to;
  };
  const commas: number[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  if (at === 1) blank(0, 1);
  while (at < text.length) {
    const character = text.charAt(at);
    if (character === '"') {
      at = endOfString(text, at);
      comma = -1;
    } else if (character === '/' && (text[at + 1] === '/' || text[at + 1] === '*')) {
      const end = endOfComment(text, at);
      blank(at, end);
      at = end;
    } else {
      if (character === ',') comma = at;
      else if ((character === '}' || character === ']') && comma !== -1) commas.push(comma);
      if (character !== ',' && character.trim() !== '') comma = -1;
      at += 1;
    }
  }
  parts.push(text.slice(kept));
  const plain = parts.join('');
  return commas.length === 0 ? plain : withoutCharacters(plain, commas);
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function endOfComment(text: string, start: number): number {
  const isLine = text[start + 1] === '/';
  const end = text.indexOf(isLine ? '\n' : '*/', start + 2);
  return end === -1 ? text.length : end + (isLine ? 0 : 2);
}

function withoutCharacters(text: string, positions: readonly number[]): string {
  let from = 0;
  const parts = positions.map((position) => {
    const part = text.slice(from, position);
    from = position + 1;
    return part;
  });
  return [...parts, text.slice(from)].join(' ');
}

function explain(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? Number.NaN);
  if (!Number.isFinite(position)) return message;
  const before = text.slice(0, position).split('\n');
  const reason = message.replace(/ in JSON at position.*$/, '');
  return `${reason} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}
