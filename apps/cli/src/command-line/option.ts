import { UsageError } from './usage-error.js';

/** One option of a command, and how its value is read. */
export interface CommandOption<T> {
  /** Without the dashes: `data-dir`. */
  readonly flag: string;
  /** Placeholder of the value in the help text; absent for an option that takes none. */
  readonly value?: string;
  readonly help: string;
  /** The option may be given more than once, with one or more values each time. */
  readonly repeats?: boolean;
  /** Converts the values given on the command line, at least one. Throws a `UsageError`. */
  readonly read: (texts: readonly string[]) => T;
}

export type CommandOptions = Readonly<Record<string, CommandOption<unknown>>>;

/** The values of the options that were given. */
export type OptionValues<O extends CommandOptions> = {
  readonly [Name in keyof O]?: O[Name] extends CommandOption<infer T> ? T : never;
};

export function textOption(flag: string, value: string, help: string): CommandOption<string> {
  return { flag, value, help, read: (texts) => texts.at(-1) ?? '' };
}

export function repeatedOption(flag: string, value: string, help: string): CommandOption<readonly string[]> {
  return { flag, value, help, repeats: true, read: (texts) => texts };
}

export function switchOption(flag: string, help: string): CommandOption<boolean> {
  return { flag, help, read: () => true };
}

export function numberOption(
  flag: string,
  help: string,
  { min, max }: { readonly min: number; readonly max: number },
): CommandOption<number> {
  return {
    flag,
    value: '<number>',
    help,
    read(texts) {
      const text = texts.at(-1) ?? '';
      const number = Number(text);
      if (/^\d{1,9}$/.test(text) && number >= min && number <= max) return number;
      throw new UsageError(`The value "${text}" of --${flag} is invalid. Give a whole number from ${min} to ${max}.`);
    },
  };
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A time such as `30s`, `500ms` or `2m`; a number alone is in seconds. */
export function durationOption(
  flag: string,
  help: string,
  { maxMs }: { readonly maxMs: number },
): CommandOption<number> {
  return {
    flag,
    value: '<time>',
    help,
    read(texts) {
      const text = texts.at(-1) ?? '';
      const [, digits, unit = 's'] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? [];
      const ms = Number(digits) * unitMs[unit as keyof typeof unitMs]; // one of those that the pattern lists
      if (ms <= maxMs) return ms;
      throw new UsageError(
        `The value "${text}" of --${flag} is invalid. Give a time such as 30s, up to ${maxMs / 1_000}s.`,
      );
    },
  };
}
