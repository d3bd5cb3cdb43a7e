import { describe, expect, it } from 'vitest';
import { AnswerQueue } from './answer-queue.js';
import { importUnreadable } from './bulk-errors.js';
import type { ImportRow } from './import-rows.js';
import { ImportRun, type WriteRows } from './import-run.js';
import { progressReport, rejectedCsvReport, rejectedLinesReport, type ReportFormat } from './report-format.js';

const row = (line: number, unreadable?: string): ImportRow => ({
  line,
  size: 10,
  values: { n: line },
  unreadable,
  source: [String(line)],
});

const rowsFrom = (first: number, count: number): ImportRow[] => Array.from({ length: count }, (_, n) => row(first + n));

async function* blocks(...all: (readonly ImportRow[] | Error)[]): AsyncGenerator<readonly ImportRow[]> {
  for (const block of all) {
    if (block instanceof Error) throw block;
    yield await Promise.resolve(block);
  }
}

/** Rejects every row whose number can be divided by seven. */
const rejectSevens: WriteRows = (rows) =>
  Promise.resolve(
    rows.map(({ line }) => {
      if (line % 7 !== 0) return line % 2 === 0 ? 'created' : 'updated';
      return [{ code: 'maxValue', detail: `${line} is bad.`, source: { pointer: '/n' } }];
    }),
  );

function start(rows: AsyncIterable<readonly ImportRow[]>, write: WriteRows, format: ReportFormat = progressReport) {
  const answer = new AnswerQueue();
  const run = new ImportRun({ write, format, answer });
  return answer.read((signal) => run.run(rows, signal));
}

async function textOf(answer: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of answer) text += part;
  return text;
}

const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('an import', () => {
  it('reports progress, every rejected row and the end', async () => {
    const rows = blocks(rowsFrom(1, 2_500), [row(2_501, 'no JSON')], rowsFrom(2_502, 3));
    const lines = linesOf(await textOf(start(rows, rejectSevens)));
    const rejected = lines.filter(({ kind }) => kind === 'rejected');
    expect(rejected).toHaveLength(358);
    expect(rejected[0]).toMatchObject({ line: 7, source: ['7'], errors: [{ code: 'maxValue' }] });
    expect(rejected.at(-1)).toMatchObject({ line: 2_501, errors: [{ detail: 'no JSON' }] });
    expect(lines.filter(({ kind }) => kind === 'progress').map(({ line }) => line)).toEqual([2_000, 2_504]);
    expect(lines.at(-1)).toEqual({
      kind: 'done',
      line: 2_504,
      rows: 2_504,
      created: 1_074,
      updated: 1_072,
      rejected: 358,
    });
  });

  it('imports the rows before a line that cannot be read, and says where it ended', async () => {
    const failure = importUnreadable({ line: 4, reason: 'a quote is not closed' });
    const lines = linesOf(await textOf(start(blocks(rowsFrom(1, 3), failure), rejectSevens)));
    expect(lines.at(-1)).toMatchObject({ kind: 'failed', line: 3, created: 1, error: { code: 'IMPORT_UNREADABLE' } });
  });

  it('writes long rows in smaller batches', async () => {
    const wide = rowsFrom(1, 10).map((each) => ({ ...each, size: 1_024 * 1_024 }));
    const lines = linesOf(await textOf(start(blocks(wide), rejectSevens)));
    expect(lines.filter(({ kind }) => kind === 'progress').map(({ line }) => line)).toEqual([4, 8, 10]);
  });

  it('says where to go on if PostgreSQL stays away', async () => {
    const reason = Object.assign(new Error('It is away.'), { code: 'DATABASE_UNAVAILABLE' });
    const write: WriteRows = async (rows, turn) => {
      await turn;
      if (rows[0]?.line === 2_001) throw reason;
      return rejectSevens(rows, turn);
    };
    const lines = linesOf(await textOf(start(blocks(rowsFrom(1, 7_000)), write)));
    expect(lines.at(-1)).toMatchObject({
      kind: 'failed',
      line: 2_000,
      rows: 2_000,
      error: {
        code: 'IMPORT_INTERRUPTED',
        detail: expect.stringContaining('up to line 2000 are imported; those up to line 4000 may be') as unknown,
      },
    });
  });

  it('writes a batch only after the one before it', async () => {
    let writing = 0;
    let most = 0;
    const write: WriteRows = async (rows, turn) => {
      await turn;
      most = Math.max(most, (writing += 1));
      await new Promise((resolve) => setImmediate(resolve));
      writing -= 1;
      return rows.map(() => 'created' as const);
    };
    await textOf(start(blocks(rowsFrom(1, 4_500)), write));
    expect(most).toBe(1);
  });

  it('stops when the client leaves', async () => {
    let written = 0;
    const endless = (async function* () {
      for (let first = 1; ; first += 1_000) yield await Promise.resolve(rowsFrom(first, 1_000));
    })();
    const answer = start(endless, (rows) => {
      written += rows.length;
      return Promise.resolve(rows.map(() => 'created' as const));
    });
    await answer.next();
    await answer.return(undefined);
    const writtenThen = written;
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(written - writtenThen).toBeLessThanOrEqual(2_000);
  });

  it('goes on while the client reads nothing, until much is unread', async () => {
    let written = 0;
    const wide = Array.from({ length: 15_000 }, (_, n) => ({ ...row(n + 1), source: ['x'.repeat(1_000)] }));
    const answer = start(blocks(wide), (rows) => {
      written += rows.length;
      return Promise.resolve(rows.map(() => [{ code: 'type', detail: 'bad', source: { pointer: '/n' } }]));
    });
    const first = await answer.next();
    await new Promise((resolve) => setTimeout(resolve, 0));
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(first.done).toBe(false);
    expect(written).toBeGreaterThan(2_000);
    expect(written).toBeLessThan(12_000);
    await textOf(answer);
    expect(written).toBe(15_000);
  });
});

describe('the file of rejected rows', () => {
  it('is CSV with the columns of the import, the line and the errors', async () => {
    const format = rejectedCsvReport(';', () => ['n', '_line']);
    const rows = [6, 7, 14].map((line) => ({ ...row(line), source: [`"${line}"`, 'old'] }));
    expect(await textOf(start(blocks(rows), rejectSevens, format))).toBe(
      'n;_line;_errors\n"""7""";7;7 is bad.\n"""14""";14;14 is bad.\n',
    );
  });

  it('is JSON lines with the line and the errors', async () => {
    const lines = linesOf(await textOf(start(blocks(rowsFrom(6, 2)), rejectSevens, rejectedLinesReport)));
    expect(lines).toEqual([{ n: 7, _line: 7, _errors: [expect.objectContaining({ detail: '7 is bad.' })] }]);
  });

  it('breaks off if the import fails: it would not be complete', async () => {
    const failure = importUnreadable({ line: 2, reason: 'x' });
    await expect(textOf(start(blocks([row(1)], failure), rejectSevens, rejectedLinesReport))).rejects.toBe(failure);
  });
});
