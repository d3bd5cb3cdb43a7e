import path from 'node:path';
import { describeLoadFailure } from './load-failure.js';
import type { AppStart, FileFailure } from './start-app.js';

/** Why an app, or a part of it, cannot be served. */
export interface AppProblem {
  readonly message: string;
  readonly stack?: string;
  /** True when no function of the app can run; otherwise the registered ones can. */
  readonly blocksAll: boolean;
}

/** What the start of the app found. */
export interface AppFacts {
  readonly registeredFunctions: number;
  /** The app has folders with a function.json. */
  readonly hasFunctionJson: boolean;
}

/** Returns the problem of an app, if it has one. An app without functions has one: the message gives the reason. */
export function problemOf(start: AppStart, facts: AppFacts): AppProblem | undefined {
  if (start.hookFailure) return hookProblem(start.directory, start.hookFailure.error);
  const [first, ...others] = start.failures;
  if (first) return loadProblem(start, first, others, facts);
  if (facts.registeredFunctions > 0 || facts.hasFunctionJson) return undefined;
  return { message: `No functions were found: ${whyNone(start)}`, blocksAll: true };
}

function hookProblem(directory: string, error: unknown): AppProblem {
  const message = `An appStart hook of the app in ${directory} failed: ${messageOf(error)}`;
  return { message, blocksAll: true, ...stackOf(error) };
}

function loadProblem(start: AppStart, first: FileFailure, others: readonly FileFailure[], facts: AppFacts): AppProblem {
  const sentences = [
    `Worker was unable to load entry point "${first.file}" of the app in ${start.directory}: ${describeLoadFailure(first.error, start.directory)}`,
  ];
  for (const { file, error } of others)
    sentences.push(`Entry point "${file}" could not be loaded either: ${describeLoadFailure(error, start.directory)}`);
  return { message: sentences.join('\n'), blocksAll: facts.registeredFunctions === 0, ...stackOf(first.error) };
}

function whyNone({ directory, packageJson, files }: AppStart): string {
  const file = path.join(directory, 'package.json');
  const orFolders = `and no folder in ${directory} has a function.json`;
  if (packageJson.kind === 'missing') return `there is no ${file}, ${orFolders}.`;
  if (packageJson.kind === 'invalid') return `${file} cannot be used, ${packageJson.reason}, ${orFolders}.`;
  const { main } = packageJson;
  if (main === undefined) return `${file} names no "main", ${orFolders}.`;
  if (files.length === 0) {
    const hint = /^(\.\/)?(dist|build|out|lib)\b/.test(main) ? ' Build the app first.' : '';
    return `"main": "${main}" in ${file} matches no file in ${directory}, ${orFolders}.${hint}`;
  }
  const list = files.length > 5 ? `${files.slice(0, 5).join(', ')} and ${files.length - 5} more` : files.join(', ');
  return `"main": "${main}" in ${file} names ${list}, which registered none (with app.http, app.storageQueue, …), ${orFolders}.`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stackOf(error: unknown): { stack?: string } {
  return error instanceof Error && typeof error.stack === 'string' ? { stack: error.stack } : {};
}
