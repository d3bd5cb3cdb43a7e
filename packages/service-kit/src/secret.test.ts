import { format, inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createLog } from './observations/sinks.js';
import { Secret } from './secret.js';

const value = 'correct horse battery staple';
const secret = new Secret(value);

describe('Secret', () => {
  it('opens with reveal', () => {
    expect(secret.reveal()).toBe(value);
  });

  it.each<[string, () => string]>([
    ['String()', () => String(secret)],
    // oxlint-disable-next-line typescript/restrict-template-expressions -- this is what careless code would write
    ['a template', () => `password=${secret}`],
    ['concatenation', () => 'password='.concat(String(secret))],
    ['JSON', () => JSON.stringify({ deep: [{ secret }] })],
    ['inspect', () => inspect({ deep: { secret } })],
    ['inspect with everything shown', () => inspect(secret, { showHidden: true, getters: true })],
    ['%s', () => format('%s', secret)],
    ['%o', () => format('%o', { secret })],
    ['%j', () => format('%j', { secret })],
    ['an error message', () => inspect(new Error(`cannot log in with ${String(secret)}`))],
    ['a property of an error', () => inspect(Object.assign(new Error('no'), { secret }))],
    ['the cause of an error', () => inspect(new Error('no', { cause: secret }))],
  ])('is not shown by %s', (_, show) => {
    expect(show()).toContain('[secret]');
    expect(show()).not.toContain(value);
  });

  it('is not shown without its own inspector either, nor by its keys', () => {
    expect(inspect(secret, { customInspect: false, showHidden: true })).not.toContain(value);
    expect(Object.entries(secret)).toEqual([]);
    expect(JSON.stringify(Object.assign({}, secret))).toBe('{}');
    expect(inspect(structuredClone({ secret }))).not.toContain(value);
  });

  it('is not shown by a log line, wherever it stands', () => {
    const lines: string[] = [];
    const log = createLog('test', 'info', { write: (line) => lines.push(line) });
    const error = Object.assign(new Error('outer', { cause: Object.assign(new Error('inner'), { secret }) }), {
      details: { token: secret },
    });
    log.info({ token: secret, list: [secret], deep: { token: secret } }, `with ${String(secret)}`);
    log.error({ error, cause: error, other: new Error('no', { cause: secret }) }, 'failed');
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).toContain('[secret]');
      expect(line).not.toContain(value);
    }
  });
});
