/** One field of a form. */
export interface FormPart {
  readonly value: Buffer;
  readonly fileName?: string;
  readonly contentType?: string;
}

/** The fields of a form in their order. A name may occur more than once. */
export class Form {
  readonly #parts: readonly (readonly [string, FormPart])[];

  constructor(parts: readonly (readonly [string, FormPart])[]) {
    this.#parts = parts;
  }

  get(name: string): FormPart | null {
    return this.#parts.find(([key]) => key === name)?.[1] ?? null;
  }

  getAll(name: string): FormPart[] {
    return this.#parts.filter(([key]) => key === name).map(([, part]) => part);
  }

  has(name: string): boolean {
    return this.#parts.some(([key]) => key === name);
  }

  [Symbol.iterator](): Iterator<readonly [string, FormPart]> {
    return this.#parts[Symbol.iterator]();
  }

  get length(): number {
    return this.#parts.length;
  }
}

/** Parses a URL-encoded or multipart form. Throws for any other content type. */
export function parseForm(body: Buffer, contentType: string): Form {
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (mediaType === 'application/x-www-form-urlencoded') {
    const fields = [...new URLSearchParams(body.toString())];
    return new Form(fields.map(([name, value]) => [name, { value: Buffer.from(value) }] as const));
  }
  if (mediaType === 'multipart/form-data') {
    const boundary = parameterOf(contentType, 'boundary');
    if (!boundary) throw new Error(`The content type "${contentType}" has no boundary parameter.`);
    return new Form(parseMultipart(body, boundary));
  }
  throw new Error(
    `Media type "${mediaType}" does not match types supported for form parsing: ` +
      '"multipart/form-data", "application/x-www-form-urlencoded".',
  );
}

function parseMultipart(body: Buffer, boundary: string): (readonly [string, FormPart])[] {
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: (readonly [string, FormPart])[] = [];
  let at = body.indexOf(delimiter);
  while (at >= 0) {
    const start = at + delimiter.length;
    const end = body.indexOf(delimiter, start);
    if (end < 0) break;
    const part = parsePart(body.subarray(start, end));
    if (part) parts.push(part);
    at = end;
  }
  return parts;
}

/** Parses one part, including the line ends between it and the delimiters. */
function parsePart(bytes: Buffer): readonly [string, FormPart] | undefined {
  const gap = bytes.indexOf('\r\n\r\n');
  if (gap < 0) return undefined;
  const lines = bytes.subarray(0, gap).toString().split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const disposition = headers.get('content-disposition') ?? '';
  const name = parameterOf(disposition, 'name');
  if (name === undefined) return undefined;
  const fileName = parameterOf(disposition, 'filename');
  const contentType = headers.get('content-type');
  const value = bytes.subarray(gap + 4, bytes.length - 2); // without the line end before the delimiter
  return [
    name,
    { value, ...(fileName !== undefined && { fileName }), ...(contentType !== undefined && { contentType }) },
  ];
}

function parameterOf(header: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]*))`, 'i').exec(header);
  return match?.[1]?.replaceAll(/\\(.)/g, '$1') ?? match?.[2];
}
