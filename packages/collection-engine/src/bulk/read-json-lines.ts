import { StringDecoder } from 'node:string_decoder';
import { parseClientJson } from '../values/number-literal.js';
import { isJsonRecord } from '../write/record-input.js';
import { importUnreadable } from './bulk-errors.js';
import { maxLineBytes, type ImportRow } from './import-rows.js';

/** Reads one JSON object per line; empty lines are skipped. Yields the rows of each chunk together. */
export async function* readJsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly ImportRow[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let line = 0;
  const toRows = (lines: readonly string[]): ImportRow[] =>
    lines.flatMap((text) => {
      line += 1;
      return text.trim() === '' ? [] : [toRow(text, line)];
    });
  for await (const chunk of body) {
    const lines = (rest + decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))).split('\n');
    rest = lines.pop() ?? '';
    yield toRows(lines);
    if (rest.length > maxLineBytes)
      throw importUnreadable({ line: line + 1, reason: `it is longer than ${maxLineBytes} bytes` });
  }
  yield toRows([rest + decoder.end()]);
}

function toRow(text: string, line: number): ImportRow {
  const unreadable = (reason: string): ImportRow => ({
    line,
    size: text.length,
    values: {},
    unreadable: reason,
    source: text,
  });
  let values: unknown;
  try {
    values = parseClientJson(line === 1 ? text.replace(/^\uFEFF/, '') : text);
  } catch (error) {
    return unreadable(`The line is not JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
  if (!isJsonRecord(values))
    return unreadable('The line is not a JSON object. Write one object with the attributes of a record per line.');
  return { line, size: text.length, values, unreadable: undefined, source: text };
}
