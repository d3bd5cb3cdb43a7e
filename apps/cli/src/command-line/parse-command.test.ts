import { describe, expect, it } from 'vitest';
import { defineCommand } from './command.js';
import { numberOption, repeatedOption, switchOption, textOption } from './option.js';
import { parseCommand } from './parse-command.js';

const command = defineCommand('pack', {
  summary: 'Pack things.',
  arguments: ['name', 'target?'],
  options: {
    port: numberOption('port', 'A port.', { min: 0, max: 65_535 }),
    dataDir: textOption('data-dir', '<path>', 'A directory.'),
    scope: repeatedOption('scope', '<scope>', 'A scope.'),
    json: switchOption('json', 'JSON.'),
  },
  run: () => Promise.resolve(),
});
const parse = (...argv: string[]) => parseCommand(command, argv);

describe('parseCommand', () => {
  it('reads options before, between and after arguments', () => {
    expect(parse('--port', '0', 'box', '--data-dir=/d', 'here', '--json')).toEqual({
      kind: 'run',
      values: { port: 0, dataDir: '/d', json: true },
      args: ['box', 'here'],
    });
  });

  it('leaves out options that are not given', () => {
    expect(parse('box')).toEqual({ kind: 'run', values: {}, args: ['box'] });
  });

  it('collects a repeatable option, given several times or with several values', () => {
    expect(parse('box', '--scope', 'a', 'b', '--scope', 'c', '--json')).toMatchObject({
      values: { scope: ['a', 'b', 'c'], json: true },
      args: ['box'],
    });
  });

  it('treats everything after -- as arguments', () => {
    expect(parse('--scope', 'a', '--', '--json', '-x')).toMatchObject({
      values: { scope: ['a'] },
      args: ['--json', '-x'],
    });
  });

  it('takes the last value of an option that is given twice', () => {
    expect(parse('box', '--port', '1', '--port', '2')).toMatchObject({ values: { port: 2 } });
  });

  it.each([['--help'], ['-h'], ['box', '--help', '--colour']])('shows help for %j', (...argv) => {
    expect(parse(...argv)).toEqual({ kind: 'help' });
  });

  it.each([
    [['box', '--colour'], 'The option "--colour" does not exist.'],
    [['box', '-x'], 'The option "-x" does not exist.'],
    [['box', '--port'], 'The option --port needs a value: --port <number>.'],
    [['box', '--data-dir='], 'The option --data-dir needs a value: --data-dir <path>.'],
    [['box', '--port', '65536'], 'The value "65536" of --port is invalid. Give a whole number from 0 to 65535.'],
    [['box', '--port', '-1'], 'The value "-1" of --port is invalid. Give a whole number from 0 to 65535.'],
    [['box', '--port', '0x10'], 'The value "0x10" of --port is invalid. Give a whole number from 0 to 65535.'],
    [['box', '--json=yes'], 'The option --json takes no value, but "yes" was given.'],
    [[], 'The argument <name> is missing.'],
    [['box', 'here', 'there'], 'The argument "there" is unexpected.'],
  ])('refuses %j', (argv, message) => {
    expect(() => parse(...argv)).toThrow(message);
  });
});
