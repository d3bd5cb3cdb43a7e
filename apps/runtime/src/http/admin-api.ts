import type { FunctionDefinition } from '../applications/function-definition.js';
import type { AdminHost } from './admin-host.js';
import { adminCallRefused, functionKeyRequired, functionNotFound } from './errors.js';
import type { Exchange } from './exchange.js';
import type { HttpApplication } from './http-host.js';
import type { HttpObserve } from './http-observations.js';
import type { KeyOwner } from './function-keys.js';
import { Refused } from './outcome-refusal.js';
import { readBody, type BodyLimits } from './read-body.js';
import { isFromThisMachine } from './caller-address.js';
import { decodeSegment } from './request-target.js';
import { writeAnswer, writeJson } from './write-answer.js';

export interface AdminCall {
  readonly exchange: Exchange;
  readonly application: HttpApplication;
  /** Behind `/admin/`, decoded. */
  readonly path: readonly string[];
  readonly key: string | undefined;
  readonly bodies: BodyLimits;
  readonly baseUrl: string;
  readonly observe: HttpObserve;
}

/** Whether a path is the admin API's; its segments then. */
export function adminPath(path: string): readonly string[] | undefined {
  // A look at one letter keeps most paths away from the expression.
  return (path.charCodeAt(1) | 32) === 97 && /^\/admin(?:\/|$)/i.test(path)
    ? path.slice('/admin/'.length).replace(/\/$/, '').split('/').map(decodeSegment)
    : undefined;
}

/**
 * Serves the admin API of one application. All of it needs the master key, except the question whether we are there. Where
 * no keys are asked for, the developer at this machine needs none either, but the pages in their browser do.
 */
export async function serveAdmin(call: AdminCall): Promise<void> {
  const { exchange, application, key } = call;
  const { admin, keys, requiresKeys } = application;
  const [area = '', ...rest] = call.path.map((segment) => segment.toLowerCase());
  const action = `${exchange.method} ${[area, ...rest].join('/')}`;
  if (!admin) throw notFound(exchange);
  if (/^(?:GET|POST) host\/ping$/.test(action))
    return writeAnswer(exchange, { status: 200, headers: [], body: undefined });
  const isMaster = key !== undefined && keys.present(key).isMaster;
  if (!isMaster && (requiresKeys || !isFromThisMachine(exchange.request))) throw new Refused(functionKeyRequired({}));
  if (exchange.method !== 'GET') call.observe({ kind: 'http.admin', application: application.name, action });
  if (area === 'host') return serveHost(call, admin, `${exchange.method} ${rest.join('/')}`);
  if (area === 'functions') return serveFunctions(call, admin, rest);
  throw notFound(exchange);
}

function serveHost({ exchange, application }: AdminCall, admin: AdminHost, action: string): void {
  switch (action) {
    case 'GET status': {
      const { uptimeMs, errors, ...status } = admin.status();
      const processUptime = Math.round(uptimeMs);
      return writeJson(exchange, 200, {
        ...status,
        versionDetails: status.version,
        processUptime,
        ...(errors.length > 0 && { errors }),
      });
    }
    case 'GET keys':
    case 'GET functionkeys':
      return writeKeys(exchange, application, { kind: 'host' });
    case 'GET systemkeys':
      return writeKeys(exchange, application, { kind: 'system' });
    case 'GET keys/_master':
    case 'GET systemkeys/_master':
      return writeJson(exchange, 200, { name: '_master', value: application.keys.master.reveal() });
    case 'POST restart':
      admin.restart();
      return writeJson(exchange, 202, { state: 'Restarting' });
    case 'POST drain':
      admin.drain();
      return writeJson(exchange, 202, admin.drainStatus());
    case 'GET drain/status':
      return writeJson(exchange, 200, admin.drainStatus());
    default:
      throw notFound(exchange);
  }
}

async function serveFunctions(
  call: AdminCall,
  admin: AdminHost,
  [name, part, ...more]: readonly string[],
): Promise<void> {
  const { exchange, application, baseUrl } = call;
  const { method } = exchange;
  const describe = (definition: FunctionDefinition): object => describeFunction(definition, application, baseUrl);
  if (name === undefined && method === 'GET') return writeJson(exchange, 200, admin.functions().map(describe));
  const definition = admin.functions().find((one) => one.name.toLowerCase() === name);
  const problems = admin.problems().filter(({ functionName }) => functionName.toLowerCase() === name);
  if (more.length > 0 || (!definition && problems.length === 0)) throw notFound(exchange);
  if (part === 'status' && method === 'GET')
    return writeJson(exchange, 200, problems.length > 0 ? { errors: problems.map(({ problem }) => problem) } : {});
  if (!definition) throw notFound(exchange);
  if (part === undefined && method === 'GET') return writeJson(exchange, 200, describe(definition));
  if (part === 'keys' && method === 'GET')
    return writeKeys(exchange, application, { kind: 'function', name: definition.name });
  if (part === undefined && method === 'POST') return runFunction(call, admin, definition);
  throw notFound(exchange);
}

async function runFunction(
  { exchange, bodies }: AdminCall,
  admin: AdminHost,
  definition: FunctionDefinition,
): Promise<void> {
  if (definition.trigger.type.toLowerCase() === 'httptrigger')
    throw new Refused(
      adminCallRefused({ problem: `${definition.name} has an HTTP trigger: call its address instead` }),
    );
  const input = readInput((await readBody(exchange, bodies)).toString('utf8'));
  if (input === undefined)
    throw new Refused(adminCallRefused({ problem: 'send {"input": "…"}, the text that the trigger brings' }));
  admin.run(definition, input);
  writeAnswer(exchange, { status: 202, headers: [], body: undefined });
}

/** An input that is not a text is passed on as the JSON it was written as; none at all is an empty one. */
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

function writeKeys(exchange: Exchange, { keys }: HttpApplication, owner: KeyOwner): void {
  const list = keys.list(owner).map(({ name, value }) => ({ name, value: value.reveal() }));
  writeJson(exchange, 200, { keys: list, links: [] });
}

function describeFunction(definition: FunctionDefinition, { routes }: HttpApplication, baseUrl: string): object {
  const { name, trigger, inputs, outputs, returns, isDisabled, metadata } = definition;
  const route = routes.routes.find((one) => one.definition.name === name);
  return {
    name,
    href: `${baseUrl}/admin/functions/${name}`,
    invoke_url_template: route ? `${baseUrl}/${route.path.toLowerCase()}` : null,
    language: metadata.language || null,
    config: {
      name,
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

function notFound({ method, target }: Exchange): Refused {
  return new Refused(functionNotFound({ method, path: target.path.slice(0, 200) }));
}
