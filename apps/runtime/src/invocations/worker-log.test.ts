import { describe, expect, it } from 'vitest';
import { exceptionText } from './worker-log.js';

const exception = { source: '', isUserException: true };

describe('exceptionText', () => {
  it('is the stack of a Node.js worker, which begins with the message', () => {
    const stackTrace = 'TypeError: no price\n    at handler (/app/orders.js:27:11)';
    expect(exceptionText({ ...exception, type: 'TypeError', message: 'no price', stackTrace })).toBe(stackTrace);
    // The official worker sends no type.
    expect(exceptionText({ ...exception, type: '', message: 'no price', stackTrace })).toBe(stackTrace);
  });

  it('is the message and the stack of a Python worker, which does not repeat the message', () => {
    const stackTrace = '  File "/app/function_app.py", line 5, in hello\n    raise ValueError("no price")\n';
    const message = 'ValueError: no price, says the shop';
    expect(exceptionText({ ...exception, type: '', message, stackTrace })).toBe(
      `${message}\n  File "/app/function_app.py", line 5, in hello\n    raise ValueError("no price")`,
    );
  });

  it('is the type and the message of a worker that sends no stack', () => {
    expect(exceptionText({ ...exception, type: 'Oops', message: 'no price', stackTrace: '' })).toBe('Oops: no price');
    expect(exceptionText({ ...exception, type: '', message: 'no price', stackTrace: '' })).toBe('no price');
  });

  it('has a bound', () => {
    const stackTrace = `Error: x\n${'    at f (/app/index.js:1:1)\n'.repeat(10_000)}`;
    expect(exceptionText({ ...exception, type: 'Error', message: 'x', stackTrace }).length).toBeLessThan(17_000);
  });
});
