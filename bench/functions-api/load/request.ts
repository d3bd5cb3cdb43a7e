/** What is sent again and again, with other numbers in its path and body each time. */
export interface RequestSpec {
  /** POST unless told. */
  readonly method?: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Every `sequenceMark` in it becomes a number that no other request has. */
  readonly body: string;
  /** Every `spreadMark` becomes a number below this, in an order that jumps about. */
  readonly spreadBelow?: number;
}

/** As wide as the numbers that take its place, so that nothing around them moves. */
export const sequenceMark = '#########';
export const spreadMark = '@@@@@@@@@';

/** A prime: spread numbers below a power of ten visit each of them before the first comes again. */
const stride = 61_813;

/** A request as it goes over the wire, built once; only the numbers in it change. */
export class Request {
  readonly bytes: Buffer;
  readonly #marks: readonly Mark[];

  constructor({ method = 'POST', path, headers, body, spreadBelow = 1 }: RequestSpec) {
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(method === 'GET' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
    ];
    this.bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
    this.#marks = [
      ...marksIn(this.bytes, sequenceMark).map((at): Mark => ({ at, spreadBelow: undefined })),
      ...marksIn(this.bytes, spreadMark).map((at): Mark => ({ at, spreadBelow })),
    ];
  }

  /** How many numbers one request takes. */
  get numbers(): number {
    return this.#marks.length;
  }

  /** Writes the numbers from `first` on. Only when the last answer is there: the socket sends from these very bytes. */
  stamp(first: number): void {
    for (const [index, mark] of this.#marks.entries()) {
      const { spreadBelow } = mark;
      let left = spreadBelow === undefined ? first + index : ((first + index) * stride) % spreadBelow;
      for (let at = mark.at + sequenceMark.length - 1; at >= mark.at; at -= 1) {
        this.bytes[at] = 48 + (left % 10);
        left = Math.floor(left / 10);
      }
    }
  }
}

interface Mark {
  readonly at: number;
  /** Undefined: the number counts on. */
  readonly spreadBelow: number | undefined;
}

function marksIn(bytes: Buffer, mark: string): number[] {
  const marks: number[] = [];
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) marks.push(at);
  return marks;
}
