import { describe, expect, it } from 'vitest';
import { LineReader, readPrintedLine } from './printed-lines.js';

describe('what a worker prints', () => {
  it.each([
    [
      'LanguageWorkerConsoleLogWorker connected',
      'stdout',
      { level: 'debug', text: 'Worker connected', isSystem: true },
    ],
    ['LanguageWorkerConsoleLog[warn] slow', 'stdout', { level: 'warn', text: 'slow', isSystem: true }],
    ['LanguageWorkerConsoleLog[error] broken', 'stdout', { level: 'error', text: 'broken', isSystem: true }],
    ['azfuncjsonlog:{}', 'stdout', undefined],
    ['hello error', 'stdout', { level: 'info', text: 'hello error', isSystem: false }],
    ['DeprecationWarning: old', 'stderr', { level: 'warn', text: 'DeprecationWarning: old', isSystem: false }],
    ['TypeError: no', 'stderr', { level: 'error', text: 'TypeError: no', isSystem: false }],
    ['Debugger attached', 'stderr', { level: 'info', text: 'Debugger attached', isSystem: false }],
  ] as const)('%s', (line, stream, expected) => {
    expect(readPrintedLine(line, stream)).toEqual(expected);
  });

  it('is cut into lines, wherever the pieces end, and a line without an end does not grow for ever', () => {
    const lines: string[] = [];
    const reader = new LineReader((line) => lines.push(line));
    for (const piece of ['one\ntw', 'o\r\n', 'x'.repeat(70_000), '\nrest']) reader.push(piece);
    reader.end();
    expect(lines.map((line) => line.slice(0, 4))).toEqual(['one', 'two', 'xxxx', '', 'rest']);
  });
});
