import { isForFunctions, runtimeCalls, type RuntimeKeyedFunction, type RuntimeKeys } from '@drover/contracts';
import { getText } from './get-text.js';

/** A function of an application, as a caller of the public port sees it. */
export interface ServedFunction {
  /** Name of the application, without its tenant. */
  readonly application: string;
  readonly name: string;
  readonly trigger: string;
  /** Empty: all methods. */
  readonly methods: readonly string[];
  /** With the parameters of the route in braces. Undefined if it cannot be called over HTTP; `note` has the reason. */
  readonly url: string | undefined;
  readonly authLevel: string | undefined;
  readonly note: string | undefined;
}

const timeoutMs = 10_000;

/** Asks a runtime, directly or through the public port, for its functions and their keys. Throws an Error with the next step. */
export async function fetchRuntimeKeys(url: string, masterKey: string): Promise<RuntimeKeys> {
  const { status, text } = await ask(url, masterKey);
  if (status === 401)
    throw new Error(
      'The master key is not the one of the running platform. Name its data directory with --data-dir, or set DROVER_FUNCTIONS_MASTER_KEY.',
    );
  if (status !== 200) throw new Error(`The functions cannot be listed: ${url} answered ${status}. Try again shortly.`);
  return JSON.parse(text) as RuntimeKeys; // the contract of the runtime
}

async function ask(url: string, masterKey: string): ReturnType<typeof getText> {
  try {
    return await getText(new URL(runtimeCalls.keysPath, url), {
      headers: { [runtimeCalls.keyHeader]: masterKey },
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    throw new Error(`${url} does not answer. Start "drover up", or check the address.`, { cause: error });
  }
}

/** Returns all functions with their URLs on the public port. */
export function servedFunctions({ applications }: RuntimeKeys, publicUrl: string): readonly ServedFunction[] {
  return applications.flatMap(({ name, functions }) =>
    functions.map((one) => toServedFunction(applicationName(name), one, publicUrl)),
  );
}

/** Applications are named `tenant/application`. */
export function applicationName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function toServedFunction(
  application: string,
  { name, trigger, isDisabled, http }: RuntimeKeyedFunction,
  publicUrl: string,
): ServedFunction {
  const note = whyNotCalled(trigger, isDisabled, http?.path);
  return {
    application,
    name,
    trigger,
    methods: http?.methods ?? [],
    url: http && note === undefined ? `${publicUrl}/${http.path}` : undefined,
    authLevel: http?.authLevel,
    note,
  };
}

function whyNotCalled(trigger: string, isDisabled: boolean, path: string | undefined): string | undefined {
  if (isDisabled) return 'disabled';
  if (trigger !== 'httpTrigger') return trigger;
  if (path === undefined) return 'not reachable: another application has the same route';
  return isForFunctions(`/${path}`)
    ? undefined
    : `not reachable: /${path} is a path of the platform; choose another routePrefix`;
}
