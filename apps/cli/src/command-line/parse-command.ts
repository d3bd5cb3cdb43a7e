import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Command } from './command.js';
import type { CommandOption } from './option.js';
import { UsageError } from './usage-error.js';

export type ParsedCommandLine =
  | { readonly kind: 'run'; readonly values: Readonly<Record<string, unknown>>; readonly args: readonly string[] }
  | { readonly kind: 'help' };

/** Parses what follows the name of a command. Throws a `UsageError` that names the first mistake. */
export function parseCommand(command: Command, argv: readonly string[]): ParsedCommandLine {
  const options = new Map(Object.entries(command.options).map(([name, option]) => [option.flag, { name, option }]));
  const config: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean', short: 'h' } };
  for (const [flag, { option }] of options) config[flag] = { type: option.value === undefined ? 'boolean' : 'string' };
  const { tokens } = parseArgs({ args: [...argv], options: config, strict: false, tokens: true });

  const given = new Map<string, { readonly option: CommandOption<unknown>; readonly texts: string[] }>();
  const args: string[] = [];
  /** The repeatable option whose values the next positionals are. */
  let open: string[] | undefined;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') open = undefined;
    else if (token.kind === 'positional') (open ?? args).push(token.value);
    else {
      if (token.name === 'help') return { kind: 'help' };
      const known = options.get(token.name);
      if (!known) throw new UsageError(`The option "${token.rawName}" does not exist.`);
      const { name, option } = known;
      const texts = given.get(name)?.texts ?? [];
      texts.push(...valueOf(token, option));
      given.set(name, { option, texts });
      open = option.repeats ? texts : undefined;
    }
  }
  checkArguments(command, args);
  const values = Object.fromEntries([...given].map(([name, { option, texts }]) => [name, option.read(texts)]));
  return { kind: 'run', values, args };
}

function valueOf(
  { rawName, value }: { readonly rawName: string; readonly value?: string | undefined },
  option: CommandOption<unknown>,
): readonly string[] {
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`The option ${rawName} takes no value, but "${value}" was given.`);
    return [];
  }
  if (value === undefined || value === '')
    throw new UsageError(`The option ${rawName} needs a value: ${rawName} ${option.value}.`);
  return [value];
}

function checkArguments({ arguments: names }: Command, args: readonly string[]): void {
  const missing = names.filter((name) => !/[?*]$/.test(name))[args.length];
  if (missing !== undefined) throw new UsageError(`The argument <${missing}> is missing.`);
  const unexpected = names.at(-1)?.endsWith('*') ? undefined : args[names.length];
  if (unexpected !== undefined) throw new UsageError(`The argument "${unexpected}" is unexpected.`);
}
