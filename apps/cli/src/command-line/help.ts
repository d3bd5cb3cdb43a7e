import type { Command } from './command.js';

type Row = readonly [left: string, right: string];

const helpRow: Row = ['-h, --help', 'Show this help.'];

/** Help text of one command. */
export function commandHelp(command: Command): string {
  const options = Object.values(command.options).map(({ flag, value, help }): Row => {
    return [value === undefined ? `--${flag}` : `--${flag} ${value}`, help];
  });
  return sections([
    [command.summary],
    [`Usage: drover ${usageOf(command)} [options]`],
    ['Options:', ...table([...options, helpRow])],
    command.notes,
  ]);
}

/** Help text of the whole program. */
export function programHelp(commands: readonly Command[]): string {
  return sections([
    ['Drover runs Azure Functions apps and durable function calls on your own machines.'],
    ['Usage: drover <command> [options]'],
    ['Commands:', ...commandTable(commands)],
    ['Options:', ...table([helpRow, ['-V, --version', 'Show the version.']])],
    ['Run "drover <command> --help" for the options of a command.'],
  ]);
}

/** Help text of the commands that begin with the same word. */
export function groupHelp(group: string, commands: readonly Command[]): string {
  return sections([
    [`Usage: drover ${group} <command> [options]`],
    ['Commands:', ...commandTable(commands)],
    [`Run "drover ${group} <command> --help" for the options of a command.`],
  ]);
}

function commandTable(commands: readonly Command[]): string[] {
  return table(commands.map((command): Row => [usageOf(command), command.summary]));
}

function usageOf({ name, arguments: args }: Command): string {
  return [name, ...args.map(argumentOf)].join(' ');
}

function argumentOf(name: string): string {
  if (name.endsWith('?')) return `[${name.slice(0, -1)}]`;
  return name.endsWith('*') ? `[${name.slice(0, -1)} …]` : `<${name}>`;
}

function table(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function sections(blocks: readonly (readonly string[])[]): string {
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;
}
