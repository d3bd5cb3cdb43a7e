import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CommandLine, SdkSuite } from './suites.js';

/** What a suite found. A skipped one could not be fetched or built here. */
export interface SuiteResult {
  readonly language: string;
  readonly sdk: string;
  readonly service: string;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped?: string;
}

export interface SuitePlaces {
  /** The folder `tests/sdks` of the repository. */
  readonly sources: string;
  /** Outside of the repository; kept from run to run. */
  readonly cache: string;
}

/** Fetching and compiling an SDK. */
const prepareMs = 20 * 60_000;
const runMs = 10 * 60_000;

/** Fetches and builds a suite if that was not done, and runs its checks. Never throws: what is not there is skipped with the reason. */
export async function runSuite(
  suite: SdkSuite,
  places: SuitePlaces,
  environment: NodeJS.ProcessEnv,
): Promise<SuiteResult> {
  const { language, sdk, service } = suite;
  const directory = path.join(places.cache, suite.folder);
  try {
    await prepare(suite, places.sources, directory);
  } catch (error) {
    const skipped = error instanceof Error ? error.message : String(error);
    return { language, sdk, service, passed: [], failed: [], skipped };
  }
  const { output, problem } = await run(inCache(suite.run, directory), directory, environment, runMs);
  const lines = output.split('\n');
  const passed = lines.flatMap((line) => (line.startsWith('ok ') ? [line.slice(3)] : []));
  const failed = lines.flatMap((line) => (line.startsWith('failed ') ? [line.slice(7)] : []));
  if (failed.length === 0 && (problem !== undefined || passed.length === 0))
    failed.push(`the program ended without a verdict: ${problem ?? 'it checked nothing'}`);
  return { language, sdk, service, passed, failed };
}

/** Copies the sources, and fetches and builds when one of them or a command is not that of the last time. */
async function prepare(suite: SdkSuite, sources: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const texts = await Promise.all(suite.sources.map((source) => readFile(path.join(sources, source), 'utf8')));
  const wanted = JSON.stringify([suite.prepare, texts]);
  const stamp = path.join(directory, '.prepared');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return;
  for (const source of suite.sources) {
    const inside = source.slice(source.indexOf('/') + 1);
    await cp(path.join(sources, source), path.join(directory, inside));
  }
  for (const command of suite.prepare) {
    const { problem } = await run(inCache(command, directory), directory, process.env, prepareMs);
    if (problem !== undefined) throw new Error(`${command[0].replace('{cache}/', '')}: ${problem}`);
  }
  await writeFile(stamp, wanted);
}

function inCache([command, ...args]: CommandLine, directory: string): CommandLine {
  const [first, ...rest] = [command, ...args].map((part) => part.replaceAll('{cache}', directory));
  return [first ?? command, ...rest];
}

interface ProgramEnd {
  readonly output: string;
  /** Undefined: it exited with 0. */
  readonly problem: string | undefined;
}

function run(
  [command, ...args]: CommandLine,
  cwd: string,
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = `${errors}${text}`.slice(-4_000)));
    child.once('error', (error) => resolve({ output, problem: error.message }));
    child.once('close', (code, signal) => {
      const last = errors.trim().split('\n').at(-1) ?? '';
      resolve({ output, problem: code === 0 ? undefined : `exit ${code ?? signal}, ${last}` });
    });
  });
}
