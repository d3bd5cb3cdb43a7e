import { describe, expect, it } from 'vitest';
import { fromJobEnd } from './job-result.js';
import { BoundedOutput, OutputTail } from './job-output.js';
import { commandOf } from './job-contract.js';

describe('runtimeCommand', () => {
  it.each([
    ['node worker.js', ['node', 'worker.js']],
    ['  python  -m  "my module" ', ['python', '-m', 'my module']],
    [`sh -c 'echo "$HOME; $(id)"' ""`, ['sh', '-c', 'echo "$HOME; $(id)"', '']],
    ['a\\ b "c\\"d" \'e\\f\'', ['a b', 'c"d', 'e\\f']],
  ])('%s is split', (text, words) => {
    expect(commandOf({ name: 'hello', runtimeCommand: text })).toEqual({ words });
  });

  it.each(['', '   ', '""', 'node "x'])('%j is refused with a sentence', (text) => {
    expect(commandOf({ name: 'hello', runtimeCommand: text })).toEqual({
      problem: expect.stringContaining('runtimeCommand') as unknown,
    });
  });
});

describe('the output of a job', () => {
  const outputOf = (output: Buffer) => fromJobEnd({ kind: 'exited', code: 0, output, lastLine: '' });

  it.each([
    ['{"a":1}\n', { json: '{"a":1}' }],
    ['  [1, 2]  ', { json: '[1, 2]' }],
    ['42', { json: '42' }],
    ['', { json: 'null' }],
    [' \n', { json: 'null' }],
    ['hello\nworld\n', { json: '"hello\\nworld"' }],
    ['{broken', { json: '"{broken"' }],
  ])('%j is its output', (printed, payload) => {
    expect(outputOf(Buffer.from(printed))).toEqual({ kind: 'success', output: payload });
  });

  it('may be bytes', () => {
    expect(outputOf(Buffer.from([255, 254, 0]))).toMatchObject({ output: { json: '"//4A"', encoding: 'base64' } });
  });

  it('is kept up to its limit, and not at all beyond', () => {
    const output = new BoundedOutput(4);
    expect(output.add(Buffer.from('1234'))).toBe(true);
    expect(output.isAboveLimit).toBe(false);
    expect(output.toBuffer().toString()).toBe('1234');
    expect(output.add(Buffer.from('5'))).toBe(false);
    expect(output.isAboveLimit).toBe(true);
    expect(output.toBuffer()).toHaveLength(0);
  });

  it('to standard error is known by its last line, cleaned and cut', () => {
    const tail = new OutputTail();
    expect(tail.lastLine).toBe('');
    for (let n = 0; n < 5_000; n += 1) tail.add(Buffer.from(`line ${n}\n`));
    tail.add(Buffer.from('\u001b[31mwrong\u0007 plan\u001b[0m\r\n\n'));
    expect(tail.lastLine).toBe('wrong  plan');
    tail.add(Buffer.from('z'.repeat(100_000)));
    expect(tail.lastLine).toBe('z'.repeat(1_000));
  });
});

describe('the end of a job', () => {
  const exited = (code: number, lastLine = '') =>
    fromJobEnd({ kind: 'exited', code, output: Buffer.from('"x"'), lastLine });

  it('means success, failure of the handler, or failure of the platform', () => {
    expect(exited(0)).toEqual({ kind: 'success', output: { json: '"x"' } });
    expect(exited(2, 'no')).toEqual({
      kind: 'failed',
      code: 'EXECUTION_FAILED',
      message: 'the job ended with exit code 2: no',
      transient: false,
    });
    expect(exited(75)).toMatchObject({ message: 'the job ended with exit code 75', transient: true });
    expect(fromJobEnd({ kind: 'killed', signal: 'SIGKILL' })).toMatchObject({ code: 'JOB_FAILED', transient: true });
    expect(fromJobEnd({ kind: 'not-started', reason: 'EAGAIN', transient: true })).toMatchObject({
      code: 'JOB_FAILED',
      transient: true,
    });
    expect(fromJobEnd({ kind: 'too-much-output', limitBytes: 5 })).toMatchObject({
      code: 'EXECUTION_FAILED',
      transient: false,
    });
  });
});
