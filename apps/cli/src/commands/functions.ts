import { readFile } from 'node:fs/promises';
import { functionRoutes, type FunctionSpec } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { connect } from './connect.js';

export async function listFunctions(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const functions = await (await connect(functionRoutes, flags, host)).listFunctions();
  if (flags.json) return print(host, functions);
  for (const { name, executionMode, application, endpointUrl = '' } of functions)
    host.stdout.write(`${name.padEnd(24)}  ${executionMode.padEnd(6)}  ${application ?? endpointUrl}\n`);
}

/** Registers what a JSON file describes. */
export async function addFunction(file: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const body = await readJson(`@${file}`);
  const client = await connect(functionRoutes, flags, host);
  const added = await client.registerFunction({ body: body as FunctionSpec }); // the server checks it
  if (flags.json) return print(host, added);
  host.stdout.write(`${added.name} is registered, mode ${added.executionMode}\n`);
  if (added.degradationReason !== undefined) host.stderr.write(`${added.degradationReason}\n`);
}

export async function removeFunction(name: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  await (await connect(functionRoutes, flags, host)).deleteFunction({ params: { name } });
  if (flags.json) print(host, { removed: name });
  else host.stdout.write(`${name} is gone\n`);
}

/** Calls a function and prints its output; with `--enqueue` it is not waited for. */
export async function callFunction(
  name: string,
  input: string | undefined,
  flags: ClientFlags & { readonly enqueue?: boolean },
  host: NodeJS.Process,
): Promise<void> {
  const body = { input: input === undefined ? null : await readJson(input) };
  const client = await connect(functionRoutes, flags, host);
  const params = { name };
  if (flags.enqueue) return print(host, await client.enqueueFunction({ params, body }));
  const envelope = await client.invokeFunction({ params, body });
  print(host, flags.json ? envelope : envelope.output);
}

export async function showExecution(executionId: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  print(host, await (await connect(functionRoutes, flags, host)).getExecution({ params: { executionId } }));
}

/** JSON as it stands on the command line, or in the file behind an `@`. */
async function readJson(text: string): Promise<unknown> {
  const json = text.startsWith('@') ? await readFile(text.slice(1), 'utf8') : text;
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    const where = text.startsWith('@') ? text.slice(1) : 'the input';
    throw new Error(`${where} is not JSON; a text is written as '"text"'`, { cause: error });
  }
}

function print(host: NodeJS.Process, value: unknown): void {
  host.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
