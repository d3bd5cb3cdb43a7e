import { readFile } from 'node:fs/promises';
import { functionRoutes, type FunctionResponse, type FunctionSpec } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';

const pageSize = 500;

export async function listFunctions(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(functionRoutes, flags, host);
  const functions: FunctionResponse[] = [];
  for (let page: readonly FunctionResponse[] | undefined; page === undefined || page.length === pageSize; ) {
    const after = functions.at(-1)?.name;
    page = await client.listFunctions({ query: { limit: pageSize, ...(after !== undefined && { after }) } });
    functions.push(...page);
  }
  if (flags.json) return printJson(host, functions);
  for (const { name, executionMode, application, endpointUrl = '' } of functions)
    host.stdout.write(`${name.padEnd(24)}  ${executionMode.padEnd(6)}  ${application ?? endpointUrl}\n`);
}

/** Registers the function that a JSON file describes. */
export async function addFunction(file: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const body = await readJson(`@${file}`);
  const client = await connect(functionRoutes, flags, host);
  const added = await client.registerFunction({ body: body as FunctionSpec }); // the server validates it
  if (flags.json) return printJson(host, added);
  host.stdout.write(`The function ${added.name} is registered in mode ${added.executionMode}.\n`);
  if (added.degradationReason !== undefined) host.stderr.write(`${added.degradationReason}\n`);
}

/** Replaces the function that a JSON file names, or registers it. */
export async function updateFunction(file: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const body = (await readJson(`@${file}`)) as FunctionSpec; // the server validates it
  const client = await connect(functionRoutes, flags, host);
  const updated = await client.replaceFunction({ params: { name: body.name }, body });
  if (flags.json) return printJson(host, updated);
  host.stdout.write(`The function ${updated.name} is registered in mode ${updated.executionMode}.\n`);
}

export async function removeFunction(
  name: string,
  { queue, ...flags }: ClientFlags & { readonly queue?: string },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(functionRoutes, flags, host);
  const query = queue === undefined ? {} : { queue: queue as 'drain' | 'purge' }; // the server validates it
  const draining = await client.deleteFunction({ params: { name }, query });
  if (flags.json) return printJson(host, draining ?? { removed: name });
  const left = draining && draining.waiting + draining.retrying + draining.scheduled + draining.running;
  host.stdout.write(
    left === undefined
      ? `The function ${name} is removed.\n`
      : `The function ${name} accepts no more calls and is removed after ${left} that it still has.\n`,
  );
}

/** Calls a function and prints its output; with `--enqueue` prints the accepted execution instead. */
export async function callFunction(
  name: string,
  input: string | undefined,
  flags: ClientFlags & { readonly enqueue?: boolean },
  host: NodeJS.Process,
): Promise<void> {
  const body = { input: input === undefined ? null : await readJson(input) };
  const client = await connect(functionRoutes, flags, host);
  const params = { name };
  if (flags.enqueue) return printJson(host, await client.enqueueFunction({ params, body }));
  const envelope = await client.invokeFunction({ params, body });
  printJson(host, flags.json ? envelope : envelope.output);
}

export async function showExecution(executionId: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  printJson(host, await (await connect(functionRoutes, flags, host)).getExecution({ params: { executionId } }));
}

/** Parses JSON from the command line, or from the file after an `@`. */
async function readJson(text: string): Promise<unknown> {
  const file = text.startsWith('@') ? text.slice(1) : undefined;
  const json = file === undefined ? text : await readText(file);
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    const where = file === undefined ? 'The input' : `The file ${file}`;
    throw new Error(`${where} is not valid JSON. Write a string as '"text"'.`, { cause: error });
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(`The file ${file} cannot be read (${reason}). Check its path and permissions.`, { cause: error });
  }
}
