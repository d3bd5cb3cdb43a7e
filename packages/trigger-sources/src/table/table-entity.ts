/** A property as the SDK reads it without conversion, and as it takes it. */
export type TableValue =
  | { readonly type: 'String' | 'Int64'; readonly value: string }
  | { readonly type: 'Double'; readonly value: number }
  | { readonly type: 'Boolean'; readonly value: boolean };

/** An entity to be written. */
export interface NewEntity {
  readonly partitionKey: string;
  readonly rowKey: string;
  /** How the official extension writes: adds without an ETag, replaces or adds with "*", replaces that version otherwise. */
  readonly etag: string | undefined;
  readonly properties: Readonly<Record<string, TableValue>>;
}

type Checked<Value> = { readonly value: Value } | { readonly problem: string };

/** Whole numbers that doubles cannot hold, outside of texts. */
const longInteger = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
const marker = '\u0000int64:';
const leastInt64 = -(2n ** 63n);
const mostInt64 = 2n ** 63n - 1n;

/**
 * Reads an entity from the JSON of a function. As in the official extension, whole numbers are stored as Int64, other numbers as
 * Double, objects and lists as JSON text; null properties are left out. Keys that the entity lacks come from the binding.
 */
export function parseEntity(
  json: string,
  keys: { readonly partitionKey: string | undefined; readonly rowKey: string | undefined },
): Checked<NewEntity> {
  const parsed = parseExactly(json);
  if (!parsed || typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    return { problem: `is not a JSON object: ${json.slice(0, 100)}` };
  const properties: Record<string, TableValue> = {};
  const reserved: Record<'partitionkey' | 'rowkey' | 'etag', unknown> = {
    partitionkey: keys.partitionKey,
    rowkey: keys.rowKey,
    etag: undefined,
  };
  for (const [name, value] of Object.entries(parsed.value)) {
    const folded = name.toLowerCase();
    if (value === null) continue;
    if (folded === 'partitionkey' || folded === 'rowkey' || folded === 'etag') reserved[folded] = value;
    else properties[name] = toTableValue(value);
  }
  const { partitionkey: partitionKey, rowkey: rowKey, etag } = reserved;
  for (const [name, key] of [
    ['PartitionKey', partitionKey],
    ['RowKey', rowKey],
  ] as const) {
    const problem = keyProblem(key);
    if (problem !== undefined)
      return { problem: `${problem.replace('KEY', name)}. Set it on the entity or the binding` };
  }
  if (etag !== undefined && typeof etag !== 'string')
    return { problem: `has the ETag ${JSON.stringify(etag)}, not a string` };
  return {
    // Both were checked to be strings.
    value: { partitionKey: String(partitionKey), rowKey: String(rowKey), etag: etag || undefined, properties },
  };
}

/** Characters that the service does not allow in keys. */
const notInKeys = /[/\\#?\p{Cc}]/u;

function keyProblem(key: unknown): string | undefined {
  if (key === undefined) return 'has no KEY';
  if (typeof key !== 'string') return `has the KEY ${JSON.stringify(key)}, not a string`;
  return notInKeys.test(key) ? `has the KEY ${JSON.stringify(key)} with one of the characters / \\ # ?` : undefined;
}

function toTableValue(value: unknown): TableValue {
  if (typeof value === 'boolean') return { type: 'Boolean', value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { type: 'Int64', value: String(value) } : { type: 'Double', value };
  if (typeof value !== 'string') return { type: 'String', value: JSON.stringify(value, restore, 2) };
  if (!value.startsWith(marker)) return { type: 'String', value };
  const digits = value.slice(marker.length);
  const exact = BigInt(digits);
  return exact >= leastInt64 && exact <= mostInt64
    ? { type: 'Int64', value: digits }
    : { type: 'Double', value: Number(digits) };
}

/** Parses JSON and keeps long whole numbers exact, as marked texts. */
function parseExactly(json: string): { readonly value: unknown } | undefined {
  const exact = json.replaceAll(longInteger, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : JSON.stringify(`${marker}${token}`),
  );
  try {
    return { value: JSON.parse(exact) as unknown };
  } catch {
    return undefined;
  }
}

function restore(_: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(marker) ? Number(value.slice(marker.length)) : value;
}

const keyNames: Readonly<Record<string, string>> = { partitionKey: 'PartitionKey', rowKey: 'RowKey' };

/**
 * Returns the JSON of an entity that the SDK has read without conversion, in the shape of the official extension: without ETag and
 * Timestamp, times with an offset. Whole numbers of 64 bits keep all their digits.
 */
export function entityToJson(entity: Readonly<Record<string, unknown>>): string {
  const properties = Object.entries(entity).flatMap(([name, property]) => {
    if (name === 'etag' || name === 'timestamp' || name.startsWith('odata.')) return [];
    return [`${JSON.stringify(keyNames[name] ?? name)}:${propertyToJson(property)}`];
  });
  return `{${properties.join(',')}}`;
}

function propertyToJson(property: unknown): string {
  if (typeof property !== 'object' || property === null) return JSON.stringify(property ?? null);
  const { type, value } = property as { readonly type?: unknown; readonly value?: unknown }; // absent ones read as undefined
  const text = String(value);
  switch (type) {
    case 'Int32':
    case 'Int64':
    case 'Double':
      // NaN and infinities are texts, as .NET writes them.
      return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? text : JSON.stringify(text);
    case 'Boolean':
      return text === 'true' ? 'true' : 'false';
    case 'DateTime':
      return JSON.stringify(
        text.replace(/(?:\.(\d*?)0*)?Z$/, (_, fraction?: string) => `${fraction ? `.${fraction}` : ''}+00:00`),
      );
    default:
      return JSON.stringify(text);
  }
}
