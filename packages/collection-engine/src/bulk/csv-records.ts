/** A cell as it was written; an empty cell without quotes is `noValue`. */
export type CsvCell = string | typeof noValue;
export const noValue = Symbol('no value');

export interface CsvRecord {
  readonly cells: readonly CsvCell[];
  /** Line on which it ends, from 1. */
  readonly line: number;
  /** Characters that it takes. */
  readonly size: number;
}

/** Text that is no record: a quote is not closed, or followed by other text. */
export class CsvSyntaxError extends Error {
  readonly line: number;

  constructor(line: number, reason: string) {
    super(reason);
    this.name = 'CsvSyntaxError';
    this.line = line;
  }
}

/**
 * Splits text into records as RFC 4180 describes them, wherever it is cut. Written by hand because it finds delimiters with `indexOf`
 * and looks at no character twice: `bench:collections`, import: csv-parse with its `cast`, which tells an empty cell from an empty
 * text, took 60 % of the time of Node.
 */
export class CsvRecords {
  readonly #delimiter: string;
  #text = '';
  #at = 0;
  #line = 1;
  #isFirst = true;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
  }

  /** Characters of a record whose end has not come. */
  get pending(): number {
    return this.#text.length - this.#at;
  }

  /** Line of the next record. */
  get line(): number {
    return this.#line;
  }

  /** Adds text and reads the records that are complete; `records` gets them also if it throws `CsvSyntaxError` for a later one. */
  read(text: string, isEnd: boolean, records: CsvRecord[]): void {
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
    if (this.#isFirst && this.#text !== '') {
      if (this.#text.startsWith('\uFEFF')) this.#at = 1;
      this.#isFirst = false;
    }
    while (this.#at < this.#text.length) {
      const from = this.#at;
      const cells = this.#next(isEnd);
      if (cells === undefined) return;
      if (cells.length > 1 || cells[0] !== noValue)
        records.push({ cells, line: this.#line - 1, size: this.#at - from });
    }
  }

  /** Reads a record and moves behind it; undefined if its end has not come. */
  #next(isEnd: boolean): CsvCell[] | undefined {
    const text = this.#text;
    const cells: CsvCell[] = [];
    let at = this.#at;
    let lines = 1;
    let lineEnd = text.indexOf('\n', at);
    for (;;) {
      let cellEnd: number;
      if (text.charCodeAt(at) === 34) {
        const closing = closingQuote(text, at + 1, isEnd);
        if (closing === undefined) {
          if (isEnd) throw new CsvSyntaxError(this.#line, 'a quote is not closed');
          return undefined;
        }
        const value = text.slice(at + 1, closing);
        cells.push(value.includes('"') ? value.replaceAll('""', '"') : value);
        lines += newlinesIn(value);
        cellEnd = closing + 1;
        if (lineEnd >= 0 && lineEnd < cellEnd) lineEnd = text.indexOf('\n', cellEnd);
        if (lineEnd < 0 && !isEnd) return undefined;
        if (!this.#isBoundary(cellEnd)) throw new CsvSyntaxError(this.#line, 'text follows a closing quote');
      } else {
        if (lineEnd < 0 && !isEnd) return undefined;
        const delimiter = text.indexOf(this.#delimiter, at);
        const end = lineEnd < 0 ? text.length : lineEnd;
        cellEnd = delimiter < 0 || delimiter > end ? withoutReturn(text, at, end) : delimiter;
        cells.push(cellEnd === at ? noValue : text.slice(at, cellEnd));
      }
      if (text.startsWith(this.#delimiter, cellEnd) && cellEnd < text.length) {
        at = cellEnd + this.#delimiter.length;
        continue;
      }
      this.#at = lineEnd < 0 ? text.length : lineEnd + 1;
      this.#line += lines;
      return cells;
    }
  }

  #isBoundary(at: number): boolean {
    const text = this.#text;
    return (
      at >= text.length ||
      text.startsWith(this.#delimiter, at) ||
      text[at] === '\n' ||
      text.startsWith('\r\n', at) ||
      (text[at] === '\r' && at + 1 === text.length)
    );
  }
}

/** Returns where the quote closes; undefined if that is not known yet. Two quotes are one in the text. */
function closingQuote(text: string, from: number, isEnd: boolean): number | undefined {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (at + 1 === text.length) return isEnd ? at : undefined;
    if (text.charCodeAt(at + 1) !== 34) return at;
  }
  return undefined;
}

const withoutReturn = (text: string, from: number, end: number): number =>
  end > from && text.charCodeAt(end - 1) === 13 ? end - 1 : end;

function newlinesIn(value: string): number {
  let count = 0;
  for (let at = value.indexOf('\n'); at >= 0; at = value.indexOf('\n', at + 1)) count += 1;
  return count;
}
