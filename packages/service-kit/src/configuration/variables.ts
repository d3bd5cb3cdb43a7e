import { readFileSync } from 'node:fs';
import { Secret } from '../secret.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One environment variable: how to read it, and its row in docs/configuration.md. */
export interface Variable<T> {
  readonly name: string;
  readonly about: string;
  /** The documented default; absent if the variable is required or optional without a default. */
  readonly defaultText?: string;
  readonly expects: string;
  /** Returns the value, or throws a `VariableProblem`. */
  read(environment: Environment): T;
}

/** What is wrong with one variable; the message ends with what to do. */
export class VariableProblem extends Error {}

interface Options<T> {
  readonly about: string;
  readonly default: T;
}

export function text(name: string, options: Options<string>): Variable<string> {
  return variable(name, 'text', options, (raw) => raw);
}

export function integer(
  name: string,
  options: Options<number> & { readonly min: number; readonly max: number },
): Variable<number> {
  const { min, max } = options;
  return variable(name, `a whole number from ${min} to ${max}`, options, (raw) => {
    const value = Number(raw);
    return /^-?\d+$/.test(raw) && value >= min && value <= max ? value : undefined;
  });
}

/** A TCP port; 0 selects a free one. */
export function port(name: string, options: Options<number>): Variable<number> {
  return integer(name, { ...options, min: 0, max: 65_535 });
}

/** Milliseconds; the variable's name ends in `_MS`. */
export function milliseconds(
  name: string,
  options: Options<number> & { readonly min?: number; readonly max?: number },
): Variable<number> {
  return integer(name, { min: 0, max: 86_400_000, ...options });
}

export function oneOf<const T extends string>(name: string, values: readonly T[], options: Options<T>): Variable<T> {
  return variable(name, values.join(' or '), options, (raw) => values.find((value) => value === raw));
}

/** A secret. `<NAME>_FILE` may name a file that contains it instead, which keeps it out of the environment. */
export function secret(name: string, { about }: { readonly about: string }): Variable<Secret | undefined> {
  return {
    name,
    about: `${about} \`${name}_FILE\` may name a file that contains the value instead.`,
    expects: 'text, secret',
    read(environment) {
      const file = environment[`${name}_FILE`];
      const inline = environment[name];
      if (file && inline) throw new VariableProblem(`${name} and ${name}_FILE are both set; unset one of them`);
      if (inline) return new Secret(inline);
      if (!file) return undefined;
      const value = readSecretFile(name, file);
      if (value === '')
        throw new VariableProblem(`${name}_FILE names "${file}", which is empty; write the secret into it`);
      return new Secret(value);
    },
  };
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new VariableProblem(
      `${name}_FILE names "${file}", which cannot be read (${reasonOf(error)}); name a readable file`,
    );
  }
}

/** An http or https URL; undefined if unset. */
export function optionalUrl(name: string, { about }: { readonly about: string }): Variable<string | undefined> {
  return {
    name,
    about,
    expects: 'an http or https URL',
    read(environment) {
      const raw = environment[name]?.trim();
      if (!raw) return undefined;
      const url = URL.canParse(raw) ? new URL(raw) : undefined;
      if (url?.protocol === 'http:' || url?.protocol === 'https:') return raw;
      // A common mistake is the URL of a database, whose password must not reach the log.
      const shown = raw.replace(/\/\/.*@/s, '//[secret]@');
      throw new VariableProblem(`${name} is "${shown}"; it must be an http or https URL`);
    },
  };
}

/** Text, for example a path; undefined if unset. */
export function optionalText(name: string, { about }: { readonly about: string }): Variable<string | undefined> {
  return { name, about, expects: 'text', read: (environment) => environment[name]?.trim() || undefined };
}

function variable<T extends string | number>(
  name: string,
  expects: string,
  options: Options<T>,
  parse: (raw: string) => T | undefined,
): Variable<T> {
  return {
    name,
    about: options.about,
    defaultText: String(options.default),
    expects,
    read(environment) {
      const raw = environment[name]?.trim();
      if (!raw) return options.default;
      const value = parse(raw);
      if (value === undefined) throw new VariableProblem(`${name} is "${raw}"; it must be ${expects}`);
      return value;
    },
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
