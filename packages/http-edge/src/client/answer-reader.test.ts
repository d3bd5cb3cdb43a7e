import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerReader, type AnswerLimits } from './answer-reader.js';
import { ClientFault } from './client-fault.js';

const limits: AnswerLimits = { maxHeadBytes: 32_768, maxBodyBytes: 65_536 };

type Outcome =
  | { readonly status: number; readonly headers: readonly string[]; readonly body: string; readonly keepMs: number }
  | { readonly fault: string; readonly begin: number | undefined };

/** What comes of `text` in pieces of these lengths, and of the end of the connection behind it. */
function read(text: string, lengths: readonly number[] = [], given = limits): Outcome {
  const reader = new AnswerReader(given);
  // One for all pieces, as a socket has it.
  const buffer = Buffer.alloc(Math.max(text.length, 1));
  let at = 0;
  try {
    for (let index = 0, isWhole = false; !isWhole; index += 1) {
      if (at === text.length) {
        reader.end();
        break;
      }
      const length = Math.min(text.length - at, lengths[index] ?? text.length);
      buffer.fill('#').write(text.slice(at, at + length), 'latin1');
      isWhole = reader.read(buffer, length);
      at += length;
    }
  } catch (error) {
    if (!(error instanceof ClientFault)) throw error;
    return { fault: error.code, begin: reader.begin?.status };
  }
  const keepMs = at < text.length ? 0 : reader.keepMs;
  const { status, headers, body } = reader.release();
  return { status, headers, body: body?.toString('latin1') ?? '', keepMs };
}

const byteByByte = (text: string): number[] => Array.from(text, () => 1);

/** As `read` does it with the whole and with single bytes, which must not make a difference. */
function readBothWays(text: string, given = limits): Outcome {
  const outcome = read(text, [], given);
  expect(read(text, byteByByte(text), given)).toEqual(outcome);
  return outcome;
}

const ok = 'HTTP/1.1 200 OK\r\n';
const one = 'content-length: 1\r\n\r\n1';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

describe('an answer', () => {
  it.each([
    ['with a length', `${ok}Content-Length: 5\r\n\r\nhello`, 'hello'],
    ['with the same length twice', `${ok}content-length: 1\r\nContent-Length: 01\r\n\r\n1`, '1'],
    ['with nothing in it', `${ok}content-length: 0\r\n\r\n`, ''],
    ['without a reason', `HTTP/1.1 200\r\n${one}`, '1'],
    ['with an empty reason', `HTTP/1.1 200 \r\n${one}`, '1'],
    ['with a reason from elsewhere', `HTTP/1.1 200 Gr\u00fc\u00df\tGott\r\n${one}`, '1'],
    ['in chunks', `${chunked}5\r\nhello\r\nA;a=b;c="d"\r\n0123456789\r\n0\r\n\r\n`, 'hello0123456789'],
    [
      'in chunks with any spelling',
      `${ok}Transfer-Encoding: Chunked\r\n\r\n00f\r\n${'x'.repeat(15)}\r\n000\r\n\r\n`,
      'x'.repeat(15),
    ],
    ['in no chunk', `${chunked}0\r\n\r\n`, ''],
    ['with trailers', `${chunked}1\r\n1\r\n0;last\r\nx-sum: \u00e4\r\nempty:\r\n\r\n`, '1'],
    ['without a body', 'HTTP/1.1 204 No\r\n\r\n', ''],
    ['without a body, though it has a length', 'HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\n', ''],
    ['after hints', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\n${ok}${one}`, '1'],
  ])('%s is whole, and the connection may be used again', (_what, text, body) => {
    expect(readBothWays(text)).toMatchObject({ body, keepMs: 4_000 });
  });

  it('has its headers as they came, but for the blanks around values', () => {
    const text = `${ok}X-A:b\r\nx-a: \t c d \t\r\nEmpty:\r\n!#$%&'*+-.^_\`|~09azAZ: \u00e4\u00ff;:"\r\n${one}`;
    expect(readBothWays(text)).toMatchObject({
      status: 200,
      headers: [
        'X-A',
        'b',
        'x-a',
        'c d',
        'Empty',
        '',
        "!#$%&'*+-.^_`|~09azAZ",
        '\u00e4\u00ff;:"',
        'content-length',
        '1',
      ],
    });
  });

  it.each([
    ['is of HTTP/1.0', `HTTP/1.0 200 OK\r\n${one}`, '1'],
    ['is of HTTP/1.0, whatever it says', `HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n${one}`, '1'],
    ['says so', `${ok}connection: close\r\n${one}`, '1'],
    ['says so among other things', `${ok}Connection: x, CLOSE ,y\r\nkeep-alive: timeout=9\r\n${one}`, '1'],
    ['keeps it for a second only', `${ok}keep-alive: timeout=1\r\n${one}`, '1'],
    ['ends with the connection', `${ok}\r\nhello`, 'hello'],
    ['ends with the connection at once', `${ok}\r\n`, ''],
    ['is followed by another', `${ok}${one}${ok}${one}`, '1'],
    ['is followed by a single byte', `${chunked}0\r\n\r\n\n`, ''],
    ['has a body where there must be none', `HTTP/1.1 204 No\r\n${one}`, ''],
  ])('that %s is whole, and the connection must not be used again', (_what, text, body) => {
    expect(readBothWays(text)).toMatchObject({ body, keepMs: 0 });
  });

  it.each([
    ['timeout=5', 4_000],
    ['timeout=5, max=100', 4_000],
    ['max=100, Timeout=31', 30_000],
    ['timeout=999999999', 60_000],
    ['timeout=2', 1_000],
    ['timeout=0', 0],
    ['timeout=', 4_000],
    ['timeout=-1', 4_000],
    ['timeout=99999999999', 4_000],
    ['timeouts', 4_000],
  ])('may say how long the connection is kept: %s', (value, keepMs) => {
    expect(readBothWays(`${ok}connection: keep-alive\r\nKeep-Alive: ${value}\r\n${one}`)).toMatchObject({ keepMs });
  });

  it('leaves nothing behind for the next one', () => {
    const reader = new AnswerReader(limits);
    const texts = [
      `HTTP/1.1 100 Continue\r\n\r\n${ok}connection: close\r\n${one}`,
      `${chunked}1\r\n2\r\n0\r\n\r\n`,
      `${chunked}1\r\n3\r\n0\r\n\r\n`,
      'HTTP/1.1 204 No\r\n\r\n',
      `${ok}content-length: 2\r\n\r\n45`,
    ];
    const bodies = texts.map((text) => {
      expect(reader.begin).toBeUndefined();
      expect(reader.read(Buffer.from(text), text.length)).toBe(true);
      return [reader.keepMs, reader.release().body?.toString()];
    });
    expect(bodies).toEqual([
      [0, '1'],
      [4_000, '2'],
      [4_000, '3'],
      [4_000, undefined],
      [4_000, '45'],
    ]);
  });
});

describe('something that is no answer', () => {
  it.each([
    ['another tongue', '220 mail.test ESMTP\r\n'],
    ['another version', `HTTP/2.0 200 OK\r\n${one}`],
    ['a later version', `HTTP/1.2 200 OK\r\n${one}`],
    ['small letters', `http/1.1 200 OK\r\n${one}`],
    ['a blank line first', `\r\n${ok}${one}`],
    ['two blanks', `HTTP/1.1  200 OK\r\n${one}`],
    ['a status that is none', `HTTP/1.1 9999 OK\r\n${one}`],
    ['a status below all others', `HTTP/1.1 099 OK\r\n${one}`],
    ['half a status', `HTTP/1.1 20\r\n${one}`],
    ['no status', `HTTP/1.1\r\n${one}`],
    ['a control character in the reason', `HTTP/1.1 200 O\0K\r\n${one}`],
    ['lines that end with a feed alone', ok.replace('\r', '') + one],
    ['a header that ends with a feed alone', `${ok}a: b\n${one}`],
    ['a head that ends with a feed alone', `${ok}content-length: 1\r\n\n1`],
    ['a return alone', `${ok}a: b\rc\r\n${one}`],
    ['two returns', `${ok}a: b\r\r\n${one}`],
    ['NUL in a value', `${ok}a: b\0\r\n${one}`],
    ['DEL in a value', `${ok}a: b\u007f\r\n${one}`],
    ['a blank before the colon', `${ok}content-length : 1\r\n\r\n1`],
    ['a blank before the name', `${ok} a: b\r\n${one}`],
    ['a folded line', `${ok}a: b\r\n c\r\n${one}`],
    ['no name', `${ok}: b\r\n${one}`],
    ['no colon', `${ok}abc\r\n${one}`],
    ['a name that is none', `${ok}a(b): c\r\n${one}`],
    ['a name from elsewhere', `${ok}\u00e4: c\r\n${one}`],
    ['a length that is none', `${ok}content-length: minus\r\n\r\n1`],
    ['an empty length', `${ok}content-length: \r\n\r\n1`],
    ['a signed length', `${ok}content-length: +1\r\n\r\n1`],
    ['a list of lengths', `${ok}content-length: 1, 1\r\n\r\n1`],
    ['a hexadecimal length', `${ok}content-length: 0x1\r\n\r\n1`],
    ['another encoding', `${ok}transfer-encoding: gzip\r\n\r\n1`],
    ['another encoding in chunks', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['no encoding', `${ok}transfer-encoding:\r\n\r\n1`],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['hints without end', `${'HTTP/1.1 102 Wait\r\n\r\n'.repeat(33)}${ok}${one}`],
  ])('is refused before there is anything to believe: %s', (_what, text) => {
    expect(readBothWays(text)).toEqual({ fault: 'ANSWER_NOT_HTTP', begin: undefined });
  });

  it.each([
    ['no size', '\r\n'],
    ['a size that is none', 'x\r\n'],
    ['a size with a sign', '-1\r\n'],
    ['a size as programs write it', '0x1\r\n'],
    ['a blank behind the size', '1 \r\n1'],
    ['a blank before the size', ' 1\r\n1'],
    ['a size that ends with a feed alone', '1\n1'],
    ['a return alone behind the size', '1\r1'],
    ['a size with endless zeros', `${'0'.repeat(17)}\r\n`],
    ['a control character in an extension', '1;\0\r\n1'],
    ['an extension that ends with a feed alone', '1;a\n1'],
    ['a chunk longer than it says', '1\r\n12\r\n0\r\n\r\n'],
    ['a chunk that ends with a feed alone', '1\r\n1\n0\r\n\r\n'],
    ['a trailer that is none', '0\r\nabc\r\n\r\n'],
    ['a trailer without a name', '0\r\n: a\r\n\r\n'],
    ['a folded trailer', '0\r\na: b\r\n c\r\n\r\n'],
    ['a control character in a trailer', '0\r\na: \0\r\n\r\n'],
    ['a trailer that ends with a feed alone', '0\r\na: b\n\r\n'],
    ['an end with a feed alone', '0\r\n\n'],
    ['an end without a feed', '0\r\n\r1'],
  ])('is refused in chunks, too: %s', (_what, text) => {
    expect(readBothWays(chunked + text)).toEqual({ fault: 'ANSWER_NOT_HTTP', begin: 200 });
  });

  it.each([
    ['two lengths', 'content-length: 1\r\ncontent-length: 2\r\n\r\n12'],
    ['a length and chunks', 'content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['chunks and a length', 'transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n'],
    ['chunks twice', 'transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ])('is refused when it could be understood in two ways: %s', (_what, text) => {
    expect(readBothWays(ok + text)).toEqual({ fault: 'ANSWER_AMBIGUOUS', begin: undefined });
  });

  it('is refused when it switches protocols', () => {
    expect(readBothWays('HTTP/1.1 101 Switch\r\nupgrade: x\r\n\r\n')).toEqual({
      fault: 'ANSWER_SWITCHES',
      begin: undefined,
    });
  });

  it.each(['2', '\0', '\u0016\u0003\u0001', 'HTTP/1.1 2x'])('is known by its first bytes: %j', (text) => {
    const reader = new AnswerReader(limits);
    expect(() => reader.read(Buffer.from(text), text.length)).toThrow(ClientFault);
  });
});

describe('more than is taken', () => {
  const small: AnswerLimits = { maxHeadBytes: 100, maxBodyBytes: 10 };
  const head = (length: number): string =>
    `${ok}a: ${'x'.repeat(length - ok.length - 26)}\r\ncontent-length: 1\r\n\r\n1`;

  it('is a head beyond the limit, in one line or in many, to the byte', () => {
    expect(readBothWays(head(100), small)).toMatchObject({ body: '1' });
    expect(readBothWays(head(101), small)).toEqual({ fault: 'ANSWER_HEAD_TOO_LARGE', begin: undefined });
    expect(readBothWays(`${ok}${'a: b\r\n'.repeat(20)}`, small)).toMatchObject({ fault: 'ANSWER_HEAD_TOO_LARGE' });
    expect(readBothWays(`${ok}${'x'.repeat(200)}`, small)).toMatchObject({ fault: 'ANSWER_HEAD_TOO_LARGE' });
    expect(readBothWays(`${ok}a: ${'x'.repeat(40_000)}`)).toMatchObject({ fault: 'ANSWER_HEAD_TOO_LARGE' });
    expect(readBothWays(`${ok}a: ${'x'.repeat(30_000)}\r\n${one}`)).toMatchObject({ body: '1' });
  });

  it.each([
    ['a length', `${ok}content-length: 11\r\n\r\n`],
    ['a length beyond all numbers', `${ok}content-length: ${'9'.repeat(60)}\r\n\r\n`],
    ['one chunk', `${chunked}b`],
    ['a chunk beyond all numbers', `${chunked}ffffffffffffffff`],
    ['several chunks', `${chunked}9\r\n123456789\r\n2`],
    ['a body until the end', `${ok}\r\n12345678901`],
  ])('is a body beyond the limit, as soon as it is known: %s', (_what, text) => {
    expect(readBothWays(text, small)).toEqual({ fault: 'ANSWER_BODY_TOO_LARGE', begin: 200 });
  });

  it.each([
    ['a length', `${ok}content-length: 10\r\n\r\n1234567890`],
    ['chunks', `${chunked}9\r\n123456789\r\n1\r\n0\r\n0\r\n\r\n`],
    ['the end', `${ok}\r\n1234567890`],
  ])('is not a body at the limit, given by %s', (_what, text) => {
    expect(readBothWays(text, small)).toMatchObject({ body: '1234567890' });
  });

  it.each([
    ['extensions', '1;xxxxxxxxxxxxxxxxxxxx\r\n1\r\n'.repeat(6)],
    ['trailers', `0\r\n${'a: 1234567890\r\n'.repeat(10)}`],
  ])('is what nobody asked for without end: %s', (_what, text) => {
    expect(readBothWays(chunked + text, small)).toEqual({ fault: 'ANSWER_HEAD_TOO_LARGE', begin: 200 });
  });
});

describe('a connection that ends too early', () => {
  it.each([
    `${ok}Content-Length: 5\r\nx: y\r\n\r\nhello`,
    `HTTP/1.1 100 Continue\r\n\r\n${chunked}5;x=y\r\nhello\r\n0\r\na: b\r\n\r\n`,
  ])('makes no answer whole, wherever that is: %j', (text) => {
    const headEnd = text.lastIndexOf('\r\n\r\n', text.length - 5) + 4;
    for (let end = 0; end < text.length; end += 1)
      expect(readBothWays(text.slice(0, end))).toEqual({
        fault: 'CONNECTION_LOST',
        begin: end < headEnd ? undefined : 200,
      });
    expect(readBothWays(text)).toMatchObject({ body: 'hello' });
  });
});

describe('any answer', () => {
  const value = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
  const header = fc.tuple(fc.constantFrom('x-a', 'Date', 'Keep-Alive', 'connection', 'content-type'), value);
  const framed = fc.tuple(fc.constantFrom('length', 'chunks', 'end', 'none'), value).map(([framing, body]) => {
    if (framing === 'length') return `content-length: ${body.length}\r\n\r\n${body}`;
    if (framing === 'end') return `\r\n${body}`;
    if (framing === 'none') return '\r\n';
    const chunk = body === '' ? '' : `${body.length.toString(16)};${body.length}\r\n${body}\r\n`;
    return `transfer-encoding: chunked\r\n\r\n${chunk}${chunk}0\r\nx: y\r\n\r\n`;
  });
  const answer = fc
    .tuple(
      fc.constantFrom('', 'HTTP/1.1 103 Hint\r\na: b\r\n\r\n'),
      fc.constantFrom(200, 204, 304, 500),
      fc.array(header),
      framed,
    )
    .map(([hint, status, headers, rest]) => {
      const lines = headers.map(([name, text]) => `${name}: ${text}\r\n`).join('');
      return `${hint}HTTP/1.1 ${status} Any\r\n${lines}${rest}`;
    });
  const change = fc.record({
    at: fc.nat(),
    drop: fc.nat(4),
    put: fc.string({ unit: fc.constantFrom('\r', '\n', '\0', ' ', ':', '0', 'f', 'x', ';', '\u00e4'), maxLength: 4 }),
  });
  const changed = fc.tuple(answer, fc.array(change, { maxLength: 3 })).map(([text, changes]) =>
    changes.reduce((before, { at, drop, put }) => {
      const place = at % (before.length + 1);
      return before.slice(0, place) + put + before.slice(place + drop);
    }, text),
  );
  const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 });
  const tight: AnswerLimits = { maxHeadBytes: 300, maxBodyBytes: 60 };

  it.each([
    ['a good one', answer],
    ['one that chance has changed', changed],
  ])('comes to the same in any pieces: %s', (_what, texts) => {
    fc.assert(
      fc.property(texts, lengths, fc.constantFrom(limits, tight), (text, pieces, given) => {
        expect(read(text, pieces, given)).toEqual(readBothWays(text, given));
      }),
      { numRuns: 1_000 },
    );
  });
});
