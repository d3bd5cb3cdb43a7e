import { parseArgs } from 'node:util';
import path from 'node:path';

const options = {
  'functions-app': { type: 'string', multiple: true },
  'worker-command': { type: 'string' },
  workers: { type: 'string' },
  port: { type: 'string' },
  'rpc-port': { type: 'string' },
  'loopback-port': { type: 'string' },
  certificates: { type: 'string' },
  inspect: { type: 'string' },
  'hot-reload': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const usage = `drover-runtime --functions-app DIR [--functions-app DIR …] [options]

Serves Azure Functions apps: receives their events and runs them on function workers.

  --functions-app DIR      directory of an app, with host.json, package.json or */function.json
  --worker-command CMD     command that starts a function worker, for example "node path/to/worker.js" (Drover's Node.js worker)
  --workers N              function workers per app
  --port N                 HTTP port of the functions (7071)
  --loopback-port N        port for function workers on this machine (any free port)
  --rpc-port N             port for function workers with certificates (any free port), with --certificates
  --certificates DIR       directory of the certificate authority; created on the first start
  --inspect PORT           port on which the Node.js workers wait for a debugger (9229 is usual)
  --hot-reload             redeploys an app when its files change

All options can also be set by environment variables: see docs/configuration.md.
`;

/** Converts flags to environment variables. Returns undefined for --help. Throws on an unknown flag. */
export function flagsToEnvironment(args: readonly string[]): Record<string, string> | undefined {
  const { values } = parseArgs({ args: [...args], options, strict: true });
  if (values.help) return undefined;
  const apps = (values['functions-app'] ?? []).map((directory) => path.resolve(directory));
  const flags: Record<string, string | undefined> = {
    DROVER_FUNCTIONS_APPS: apps.length > 0 ? apps.join(path.delimiter) : undefined,
    DROVER_WORKER_COMMAND: values['worker-command'],
    DROVER_WORKERS: values.workers,
    languageWorkers__node__arguments: values.inspect === undefined ? undefined : `--inspect=${values.inspect}`,
    DROVER_RUNTIME_PORT: values.port,
    DROVER_RPC_PORT: values['rpc-port'],
    DROVER_RPC_LOOPBACK_PORT: values['loopback-port'],
    DROVER_CERTIFICATES_DIR: values.certificates === undefined ? undefined : path.resolve(values.certificates),
    DROVER_HOT_RELOAD: values['hot-reload'] ? 'on' : undefined,
  };
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
