import { describe, expect, it } from 'vitest';
import { StderrTail } from './stderr-tail.js';
import { thrownError as readError } from './thrown-error.js';

const thrownError = (stderr: string): Error | undefined => readError(stderr, true);
const frames = '    at work (file:///app/worker.mjs:3:9)\n    at run (node:internal/timers:581:17)';
const end = '\n\nNode.js v20.20.2\n';

/** Node's report of an uncaught error. */
const report = (error: string): string =>
  `a line of its log\nfile:///app/worker.mjs:3\n  throw it;\n  ^\n\n${error}${end}`;

describe('the error that ended a process', () => {
  it.each([
    ['is told by name, message and stack', `TypeError: boom\n${frames}`, 'TypeError', 'boom'],
    ['may have a message of several lines', `Error: one\ntwo\n${frames}`, 'Error', 'one\ntwo'],
    ['may have a class of its own', `DatabaseError: no\n${frames}`, 'DatabaseError', 'no'],
    ['may have no message', `Error\n${frames}`, 'Error', ''],
  ])('%s', (_, text, name, message) => {
    const error = thrownError(report(text));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name, message, stack: text });
  });

  it.each([
    ['in its name', `TypeError [ERR_X]: boom\n${frames}`],
    ['in its properties', `TypeError: boom\n${frames} {\n  code: 'ERR_X',\n  path: '/x'\n}`],
  ])('has its code, %s', (_, text) => {
    const error = thrownError(report(text));
    expect(error).toMatchObject({ name: 'TypeError', message: 'boom', code: 'ERR_X' });
    expect(error?.stack).toContain(`boom\n${frames}`);
    expect(error?.stack).not.toContain('path');
  });

  it('is not its cause, although that is printed later', () => {
    const error = thrownError(report(`Error: outer\n${frames} {\n  [cause]: RangeError: inner\n  ${frames}\n}`));
    expect(error).toMatchObject({ name: 'Error', message: 'outer', stack: `Error: outer\n${frames}` });
  });

  it.each([
    ['[Error: no stack]', 'no stack'],
    ["[Error: no stack] {\n  code: 'E'\n}", 'no stack'],
    ['just a string\n(Use `node --trace-uncaught ...` to show where the exception was thrown)', 'just a string'],
    ['{ a: 1 }', '{ a: 1 }'],
    ['key: value', 'key: value'],
  ])('may have no stack, or be no error: %j', (text, message) => {
    expect(thrownError(report(text))).toMatchObject({ name: 'Error', message });
  });

  it('is found in colours, and in the report that a program prints itself', () => {
    const coloured = frames.replaceAll('    at', '\u001B[90m    at').replaceAll('\n', '\u001B[39m\n');
    expect(thrownError(report(`Error: boom\n${coloured}`))?.stack).toBe(`Error: boom\n${frames}`);
    expect(thrownError(`starting\nError: boom\n${frames}\n`)).toMatchObject({ message: 'boom' });
  });

  it('is found where the beginning of the report is not known', () => {
    expect(thrownError(`rest of a line\n  ^\n\nError: boom\n${frames}${end}`)).toMatchObject({ message: 'boom' });
  });

  it('is the message of V8 when memory was exhausted', () => {
    const message = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory';
    const output = `<--- Last few GCs --->\n\n${message}\n----- Native stack trace -----\n\n 1: 0xb78db3 node::OOM [node]\n`;
    expect(thrownError(output)).toMatchObject({ message });
  });

  it('is not an error that was logged before other output', () => {
    expect(thrownError(`Error: handled\n${frames}\nall is well again\n`)).toBeUndefined();
    expect(thrownError('')).toBeUndefined();
  });

  it('is not an error that was printed last by a process that was killed', () => {
    const output = `Error: handled\n${frames}\n`;
    expect(readError(output, true)).toBeInstanceOf(Error);
    expect(readError(output, false)).toBeUndefined();
    expect(readError(report(`Error: boom\n${frames}`), false)).toMatchObject({ message: 'boom' });
  });

  it('is found although its properties are longer than what is kept for the caller', () => {
    const tail = new StderrTail();
    const properties = `  body: '${'x'.repeat(10_000)}'`;
    for (const part of report(`Error: boom\n${frames} {\n${properties}\n}`).match(/[^]{1,1000}/g) ?? [])
      tail.add(Buffer.from(part));
    expect(tail.thrown(true)).toMatchObject({ message: 'boom' });
    expect(tail.toString()).toHaveLength(4_096);
    for (let line = 0; line < 100; line += 1) tail.add(Buffer.from(`${'y'.repeat(999)}\n`));
    expect(tail.thrown(true)).toBeUndefined();
    expect(tail.toString()).toHaveLength(4_096);
  });
});
