import { describe, expect, it } from 'vitest';
import { SystemError } from '../loading/system-errors.js';
import { failure } from './exceptions.js';

const exceptionOf = (thrown: unknown) => failure(thrown).exception;

describe('what was thrown', () => {
  it.each([
    ['an error', new TypeError('t'), 't', 'TypeError', true],
    ['an error of the worker', new SystemError('s'), 's', 'Error', false],
    ['text', 'text', 'text', 'Error', true],
    ['undefined', undefined, 'Unknown error: undefined was thrown', 'Error', true],
    ['null', null, 'Unknown error: null was thrown', 'Error', true],
    ['a number', 5, '5', 'Error', true],
    ['an object', { a: 1 }, '{"a":1}', 'Error', true],
    ['something like an error', { name: 'Alien', message: 'm', stack: 's' }, 'm', 'Alien', true],
    [
      'an error whose message is no text',
      Object.assign(new Error('x'), { message: { deep: 1 } }),
      '{ deep: 1 }',
      'Error',
      true,
    ],
  ])('is reported: %s', (_, thrown, message, type, isUserException) => {
    expect(exceptionOf(thrown)).toMatchObject({ message, type, isUserException });
  });

  it('is reported with its causes, up to a limit', () => {
    const loop = new Error('loop');
    loop.cause = loop;
    expect(exceptionOf(loop)?.stackTrace?.match(/\[cause\]/g)).toHaveLength(5);
  });

  it('cannot break the worker', () => {
    const trap = new Proxy(new Error('x'), {
      get() {
        throw new Error('a trap');
      },
    });
    expect(exceptionOf(trap)?.message).toBe('The function threw a value that cannot be described.');
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect(exceptionOf(circular)?.message).toContain('[Circular');
  });
});
