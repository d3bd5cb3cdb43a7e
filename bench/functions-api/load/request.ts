/** What is posted again and again. */
export interface RequestSpec {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Every `sequenceMark` in it becomes a number that no other request has. */
  readonly body: string;
}

/** As wide as the numbers that take its place, so that nothing around them moves. */
export const sequenceMark = '#########';

/** A request as it goes over the wire, built once; only the numbers in it change. */
export class Request {
  readonly bytes: Buffer;
  readonly #marks: readonly number[];

  constructor({ path, headers, body }: RequestSpec) {
    const lines = [
      `POST ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    this.bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
    this.#marks = marksIn(this.bytes);
  }

  /** How many numbers one request takes. */
  get numbers(): number {
    return this.#marks.length;
  }

  /** Writes the numbers from `first` on. Only when the last answer is there: the socket sends from these very bytes. */
  stamp(first: number): void {
    for (const [index, mark] of this.#marks.entries()) {
      let left = first + index;
      for (let at = mark + sequenceMark.length - 1; at >= mark; at -= 1) {
        this.bytes[at] = 48 + (left % 10);
        left = Math.floor(left / 10);
      }
    }
  }
}

function marksIn(bytes: Buffer): number[] {
  const marks: number[] = [];
  for (let at = bytes.indexOf(sequenceMark); at >= 0; at = bytes.indexOf(sequenceMark, at + sequenceMark.length))
    marks.push(at);
  return marks;
}
