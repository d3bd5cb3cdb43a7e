/** A pattern such as `uploads/{user}/{name}.{ext}`, compiled once. */
export interface BlobPattern {
  readonly container: string;
  /** All matching names begin with this text. */
  readonly prefix: string;
  /** Returns the values of the captures, or undefined if the name does not match. */
  match(blobName: string): Readonly<Record<string, string>> | undefined;
}

export interface BlobPath {
  readonly container: string;
  readonly name: string;
}

type Checked<Value> = { readonly value: Value } | { readonly problem: string };

// A literal, in which braces are doubled, or one capture. Any other brace is an error.
const piece = /((?:[^{}]|\{\{|\}\})+)|\{([^{}]*)\}/y;
const captureName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const containerRule =
  '3 to 63 lower-case letters, digits and single hyphens, beginning and ending with a letter or digit';

function isContainerName(name: string): boolean {
  if (name === '$root' || name === '$web') return true;
  return name.length >= 3 && name.length <= 63 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
}

/** Compiles the path of a trigger. Without a slash it names a container, and every blob in it matches. */
export function compileBlobPattern(path: string): Checked<BlobPattern> {
  const slash = path.indexOf('/');
  const container = (slash < 0 ? path : path.slice(0, slash)).toLowerCase();
  const blob = slash < 0 ? undefined : path.slice(slash + 1);
  if (blob === '' || container === '') return { problem: `must be "container/blob", not ${JSON.stringify(path)}` };
  if (/[{}]/.test(container)) return { problem: `must have a fixed container, not ${JSON.stringify(container)}` };
  if (!isContainerName(container))
    return { problem: `must name a container (${containerRule}), not ${JSON.stringify(container)}` };
  if (blob === undefined) return { value: { container, prefix: '', match: () => ({}) } };
  const parsed = parsePieces(blob);
  if ('problem' in parsed) return parsed;
  const { literals, captures } = parsed.value;
  return {
    value: { container, prefix: literals[0] ?? '', match: (name) => matchPieces(literals, captures, name) },
  };
}

interface Pieces {
  /** One more than captures: before, between and after them. */
  readonly literals: readonly string[];
  readonly captures: readonly string[];
}

function parsePieces(pattern: string): Checked<Pieces> {
  const literals = [''];
  const captures: string[] = [];
  piece.lastIndex = 0;
  while (piece.lastIndex < pattern.length) {
    const at = piece.lastIndex;
    const [matched, literal, capture] = piece.exec(pattern) ?? [];
    if (matched === undefined)
      return {
        problem: `has a brace without its counterpart at ${at} of the blob name: ${pattern.slice(at, at + 40)}`,
      };
    if (literal !== undefined) {
      literals[literals.length - 1] += literal.replaceAll('{{', '{').replaceAll('}}', '}');
      continue;
    }
    if (capture === undefined || !captureName.test(capture))
      return { problem: `has {${capture ?? ''}}, and a capture is a name: letters, digits and underscores` };
    captures.push(capture);
    literals.push('');
  }
  return { value: { literals, captures } };
}

/**
 * Matches from the end: with each literal at its last possible place, every capture is as long as possible, and those in front
 * take precedence. That is what greedy groups of a regular expression capture, in linear time for any name.
 */
function matchPieces(
  literals: readonly string[],
  captures: readonly string[],
  name: string,
): Readonly<Record<string, string>> | undefined {
  const [first = ''] = literals;
  const last = literals.at(-1) ?? '';
  if (captures.length === 0) return name === first ? {} : undefined;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return undefined;
  const values: [string, string][] = [];
  let end = name.length - last.length;
  for (let index = captures.length - 1; index >= 0; index -= 1) {
    const literal = literals[index] ?? '';
    const at = index === 0 ? 0 : name.lastIndexOf(literal, end - literal.length);
    const start = at + literal.length;
    if (at < 0 || start > end || (index > 0 && at < first.length)) return undefined;
    values.push([captures[index] ?? '', name.slice(start, end)]);
    end = at;
  }
  return Object.fromEntries(values.toReversed());
}

/**
 * Parses the path of an input or output: `container/blob`, or the URL of a blob as events carry it. `endpoint` is the address of
 * the account, which URLs of emulators have in front of the container.
 */
export function parseBlobPath(path: string, endpoint: string): Checked<BlobPath> {
  const relative = /^https?:\/\//i.test(path) ? fromUrl(path, endpoint) : path;
  const slash = relative?.indexOf('/') ?? -1;
  if (relative === undefined || slash <= 0 || slash === relative.length - 1)
    return { problem: `must be "container/blob", not ${JSON.stringify(path)}` };
  const [container, name] = [relative.slice(0, slash).toLowerCase(), relative.slice(slash + 1)];
  if (!isContainerName(container))
    return { problem: `must name a container (${containerRule}), not ${JSON.stringify(container)}` };
  if (name.length > 1_024) return { problem: `has a blob name of ${name.length} characters; 1024 is the limit` };
  return { value: { container, name } };
}

function fromUrl(text: string, endpoint: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { origin, pathname } = new URL(text);
  const address = `${origin}${pathname}`;
  try {
    return decodeURIComponent(
      address.startsWith(`${endpoint}/`) ? address.slice(endpoint.length + 1) : pathname.slice(1),
    );
  } catch {
    return undefined;
  }
}
