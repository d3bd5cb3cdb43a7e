import type { CommandOptions, OptionValues } from './option.js';

/** One command of the program: what help shows, what the parser accepts, and what it runs. */
export interface Command {
  /** The words that select it: `keys create`. */
  readonly name: string;
  readonly summary: string;
  /** Names of the positional arguments; one that ends in `?` is optional, one that ends in `*` may be given any number of times. */
  readonly arguments: readonly string[];
  readonly options: CommandOptions;
  /** Further lines of its help text. */
  readonly notes: readonly string[];
  readonly run: (values: Readonly<Record<string, unknown>>, args: readonly string[]) => Promise<void>;
}

interface CommandDefinition<O extends CommandOptions> {
  readonly summary: string;
  readonly arguments?: readonly string[];
  readonly options?: O;
  readonly notes?: readonly string[];
  readonly run: (values: OptionValues<O>, args: readonly string[]) => Promise<void>;
}

/** Declares a command; the types of its options are those that `run` receives. */
export function defineCommand<const O extends CommandOptions = Record<never, never>>(
  name: string,
  { summary, arguments: args = [], options, notes = [], run }: CommandDefinition<O>,
): Command {
  return {
    name,
    summary,
    arguments: args,
    options: options ?? {},
    notes,
    run: (values, given) => run(values as OptionValues<O>, given), // read by these very options
  };
}
