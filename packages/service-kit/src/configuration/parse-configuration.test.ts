import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it, vi } from 'vitest';
import { processVariables } from '../process/process-variables.js';
import { parseConfiguration, variablesToMarkdown, type Rule } from './parse-configuration.js';
import { integer, milliseconds, oneOf, optionalText, optionalUrl, port, secret, text } from './variables.js';

const variables = {
  host: text('T_HOST', { default: '127.0.0.1', about: 'Where to listen.' }),
  port: port('T_PORT', { default: 8080, about: 'The port; 0 takes any.' }),
  workers: integer('T_WORKERS', { default: 4, min: 1, max: 64, about: 'How many.' }),
  idleMs: milliseconds('T_IDLE_MS', { default: 500, about: 'How long.' }),
  mode: oneOf('T_MODE', ['fast', 'safe'], { default: 'safe', about: 'Fast | safe.' }),
  upstream: optionalUrl('T_UPSTREAM', { about: 'Whom to ask.' }),
  folder: optionalText('T_FOLDER', { about: 'Where to write.' }),
  password: secret('T_PASSWORD', { about: 'The password.' }),
};
type Rules = readonly Rule<typeof variables>[];

const parse = (environment: Record<string, string>, rules: Rules = []) =>
  parseConfiguration('sample', variables, environment, rules);

function problemsOf(environment: Record<string, string>, rules: Rules = []): unknown {
  try {
    parse(environment, rules);
  } catch (error) {
    return error instanceof Error && 'details' in error ? error.details : error;
  }
  throw new Error('it was accepted');
}

describe('parseConfiguration', () => {
  it('takes every default from an empty environment', () => {
    const defaults = { host: '127.0.0.1', port: 8080, workers: 4, idleMs: 500, mode: 'safe' };
    expect(parse({})).toEqual({ ...defaults, upstream: undefined, folder: undefined, password: undefined });
    const blank = { T_HOST: ' ', T_PORT: '', T_WORKERS: '\t', T_UPSTREAM: ' ', T_FOLDER: ' ', T_PASSWORD: '' };
    expect(parse(blank)).toEqual(parse({}));
  });

  it('reads each value, without the space around it', () => {
    const environment = { T_HOST: ' ::1 ', T_PORT: '0', T_WORKERS: ' 64', T_IDLE_MS: '0', T_MODE: 'fast\n' };
    expect(parse({ ...environment, T_UPSTREAM: 'https://example.test/a', T_FOLDER: '/var/lib/x' })).toMatchObject({
      host: '::1',
      port: 0,
      workers: 64,
      idleMs: 0,
      mode: 'fast',
      upstream: 'https://example.test/a',
      folder: '/var/lib/x',
    });
  });

  it('reports five mistakes together, each with its value and what would be right', () => {
    const environment = {
      T_PORT: '65536',
      T_WORKERS: 'many',
      T_IDLE_MS: '1.5',
      T_MODE: 'FAST',
      T_UPSTREAM: 'ftp://example.test',
    };
    const problems = [
      'T_PORT is "65536"; it must be a whole number from 0 to 65535',
      'T_WORKERS is "many"; it must be a whole number from 1 to 64',
      'T_IDLE_MS is "1.5"; it must be a whole number from 0 to 86400000',
      'T_MODE is "FAST"; it must be fast or safe',
      'T_UPSTREAM is "ftp://example.test"; it must be an http or https URL',
    ];
    expect(problemsOf(environment)).toEqual({ process: 'sample', problems });
    expect(() => parse(environment)).toThrow(
      [
        'The configuration of sample has 5 problems. Correct them and start again (docs/configuration.md):',
        ...problems.map((problem) => `  - ${problem}`),
      ].join('\n'),
    );
  });

  it('asks its rules only when each value is good on its own', () => {
    const rule = vi.fn<Rule<typeof variables>>(() => 'T_PORT must differ');
    expect(problemsOf({ T_MODE: 'odd' }, [rule])).toMatchObject({ problems: [expect.stringContaining('T_MODE')] });
    expect(rule).not.toHaveBeenCalled();
    expect(problemsOf({ T_PORT: '1' }, [rule, () => undefined, () => 'second'])).toMatchObject({
      problems: ['T_PORT must differ', 'second'],
    });
    expect(rule).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ port: 1 }));
  });

  it('is frozen', () => {
    expect(Object.isFrozen(parse({}))).toBe(true);
    expect(() => Object.assign(parse({}), { port: 1 })).toThrow(TypeError);
  });

  it('lets through what is not a problem of a variable', () => {
    const broken = {
      ...variables.host,
      read: (): string => {
        throw new TypeError('a defect');
      },
    };
    expect(() => parseConfiguration('sample', { broken }, {})).toThrow(TypeError);
  });

  it('does not print the password of a URL that stands in the wrong place', () => {
    const problems = problemsOf({ T_UPSTREAM: 'postgres://me:hun@ter2@db/x' });
    expect(JSON.stringify(problems)).toContain('postgres://[secret]@db/x');
    expect(JSON.stringify(problems)).not.toContain('ter2');
  });
});

describe('a secret variable', () => {
  it('comes from the environment', () => {
    expect(parse({ T_PASSWORD: 'hunter2' }).password?.reveal()).toBe('hunter2');
    expect(JSON.stringify(parse({ T_PASSWORD: 'hunter2' }))).not.toContain('hunter2');
  });

  it('comes from a file, without the newline at its end', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'password');
      await writeFile(file, 'hunter2\n');
      expect(parse({ T_PASSWORD_FILE: file }).password?.reveal()).toBe('hunter2');
    });
  });

  it('is refused when given twice, without being shown', () => {
    const problems = problemsOf({ T_PASSWORD: 'hunter2', T_PASSWORD_FILE: '/etc/hostname' });
    expect(problems).toMatchObject({ problems: ['T_PASSWORD and T_PASSWORD_FILE are both set; unset one of them'] });
  });

  it('is refused when its file is missing, is a folder or is empty', async () => {
    await withScratchDirectory(async (directory) => {
      const [missing, empty] = [path.join(directory, 'missing'), path.join(directory, 'empty')];
      await writeFile(empty, ' \n');
      const problemOf = (file: string): unknown => problemsOf({ T_PASSWORD_FILE: file });
      const saying = (text: string): unknown =>
        expect.objectContaining({ problems: [expect.stringContaining(text)] as unknown });
      expect(problemOf(missing)).toEqual(saying('cannot be read (ENOENT)'));
      expect(problemOf(directory)).toEqual(saying('cannot be read (EISDIR)'));
      expect(problemOf(empty)).toEqual(saying('which is empty'));
    });
  });
});

describe('variablesToMarkdown', () => {
  it('has one row a variable, and no cell that breaks the table', () => {
    expect(variablesToMarkdown(variables).split('\n')).toEqual([
      '| variable | value | default | what it does |',
      '|---|---|---|---|',
      '| `T_HOST` | text | `127.0.0.1` | Where to listen. |',
      '| `T_PORT` | a whole number from 0 to 65535 | `8080` | The port; 0 takes any. |',
      '| `T_WORKERS` | a whole number from 1 to 64 | `4` | How many. |',
      '| `T_IDLE_MS` | a whole number from 0 to 86400000 | `500` | How long. |',
      '| `T_MODE` | fast or safe | `safe` | Fast \\| safe. |',
      '| `T_UPSTREAM` | an http or https URL | – | Whom to ask. |',
      '| `T_FOLDER` | text | – | Where to write. |',
      '| `T_PASSWORD` | text, secret | – | The password. `T_PASSWORD_FILE` may name a file that contains the value instead. |',
    ]);
  });
});

describe('processVariables', () => {
  it('have defaults that are good on their own', () => {
    expect(parseConfiguration('sample', processVariables, {})).toEqual({
      logLevel: 'info',
      logFormat: 'auto',
      drainTimeoutMs: 30_000,
      drainDelayMs: 0,
      tracingEndpoint: undefined,
    });
  });
});
