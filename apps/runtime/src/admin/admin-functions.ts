import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import { mayAdminister } from './admin-access.js';
import { notFound, writeKeys, type AdminCall } from './admin-call.js';
import { reachedRoute } from './reached-route.js';
import type { AdminHost } from '../routes/admin-host.js';
import { adminCallRefused, functionKeyRequired } from '../exchanges/errors.js';
import type { HttpApplication } from '../routes/http-application.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { writeAnswer, writeJson } from '../exchanges/write-answer.js';

/** An application with an admin API. */
interface Administered {
  readonly application: HttpApplication;
  readonly admin: AdminHost;
}

/** A function found by name. A broken one has problems and no definition. */
interface NamedFunction extends Administered {
  readonly definition: FunctionDefinition | undefined;
  readonly problems: readonly FunctionProblem[];
}

/**
 * Serves `/admin/functions`: the functions of all applications, in the order in which routes are resolved. A function can be
 * addressed as `application.function`, and by its own name in the first application that has it. Names contain no dots.
 */
export async function serveAdminFunctions(
  call: AdminCall,
  action: string,
  [name, part, ...more]: readonly string[],
): Promise<void> {
  const { exchange, key } = call;
  const { method } = exchange;
  const open = call.applications
    .filter((application) => mayAdminister(application, exchange.request, key))
    .flatMap((application) => (application.admin ? [{ application, admin: application.admin }] : []));
  if (open.length === 0) throw new Refused(functionKeyRequired({}));
  const named = name === undefined ? undefined : findByName(open, name);
  const application = named?.application ?? call.application;
  exchange.application = application.name;
  if (method !== 'GET') call.observe({ kind: 'http.admin', application: application.name, action });
  const owners = ownersOf(open);
  const describe = (definition: FunctionDefinition, one: Administered): object =>
    describeFunction(definition, one, owners, call);
  if (name === undefined && method === 'GET') {
    const all = open.flatMap((one) => one.admin.functions().map((definition) => describe(definition, one)));
    return writeJson(exchange, 200, all);
  }
  if (!named || more.length > 0) throw notFound(call);
  const { definition, problems } = named;
  if (part === 'status' && method === 'GET')
    return writeJson(exchange, 200, problems.length > 0 ? { errors: problems.map(({ problem }) => problem) } : {});
  if (!definition) throw notFound(call);
  if (part === undefined && method === 'GET') return writeJson(exchange, 200, describe(definition, named));
  if (part === 'keys' && method === 'GET')
    return writeKeys(call, application.keys, { kind: 'function', name: definition.name });
  if (part === undefined && method === 'POST') return runFunction(call, named.admin, definition);
  throw notFound(call);
}

/** Finds a function by lower-case name. Valid functions take precedence over broken ones. */
function findByName(all: readonly Administered[], name: string): NamedFunction | undefined {
  const isMeant = ({ application }: Administered, own: string): boolean =>
    own.toLowerCase() === name || qualified(application, own).toLowerCase() === name;
  const definitionOf = (one: Administered) => one.admin.functions().find((own) => isMeant(one, own.name));
  const problemsOf = (one: Administered) => one.admin.problems().filter((own) => isMeant(one, own.functionName));
  const found = all.find(definitionOf) ?? all.find((one) => problemsOf(one).length > 0);
  return found && { ...found, definition: definitionOf(found), problems: problemsOf(found) };
}

/** Returns the application that owns each unqualified name, by lower-case name. */
function ownersOf(all: readonly Administered[]): ReadonlyMap<string, HttpApplication> {
  const owners = new Map<string, HttpApplication>();
  for (const { application, admin } of all)
    for (const { name } of admin.functions()) {
      const folded = name.toLowerCase();
      if (!owners.has(folded)) owners.set(folded, application);
    }
  return owners;
}

/** Describes a function in the format of the official host, plus its application. */
function describeFunction(
  definition: FunctionDefinition,
  { application }: Administered,
  owners: ReadonlyMap<string, HttpApplication>,
  { applications, baseUrl }: AdminCall,
): object {
  const { name: own, trigger, inputs, outputs, returns, isDisabled, metadata } = definition;
  const name = owners.get(own.toLowerCase()) === application ? own : qualified(application, own);
  const route = reachedRoute(own, application, applications);
  return {
    name,
    application: idOf(application),
    href: `${baseUrl}/admin/functions/${name}`,
    invoke_url_template: route ? `${baseUrl}/${route.path.toLowerCase()}` : null,
    language: metadata.language || null,
    config: {
      name: own,
      scriptFile: metadata.scriptFile,
      entryPoint: metadata.entryPoint || null,
      disabled: isDisabled,
      bindings: [trigger, ...inputs, ...outputs, ...(returns ? [returns] : [])].map(({ options }) => options),
    },
    isDisabled,
    isDirect: false,
    isProxy: false,
  };
}

async function runFunction(
  { exchange, bodies }: AdminCall,
  admin: AdminHost,
  definition: FunctionDefinition,
): Promise<void> {
  if (definition.trigger.type.toLowerCase() === 'httptrigger')
    throw new Refused(
      adminCallRefused({ problem: `Function ${definition.name} has an HTTP trigger. Call its URL instead.` }),
    );
  const input = readInput((await exchange.readBody(bodies)).toString('utf8'));
  if (input === undefined)
    throw new Refused(
      adminCallRefused({ problem: 'The body is not {"input": "…"}. Send the payload of the trigger as input.' }),
    );
  admin.run(definition, input);
  writeAnswer(exchange, { status: 202, headers: [], body: undefined });
}

/** Reads `input`. A value that is not a string is passed on as JSON; a missing one is empty. */
function readInput(body: string): string | undefined {
  try {
    const parsed = JSON.parse(body) as unknown;
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
    const input = 'input' in parsed ? parsed.input : '';
    return typeof input === 'string' ? input : JSON.stringify(input ?? '');
  } catch {
    return undefined;
  }
}

function qualified(application: HttpApplication, own: string): string {
  return `${idOf(application)}.${own}`;
}

/** Applications are named `tenant/application`. */
function idOf({ name }: HttpApplication): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
