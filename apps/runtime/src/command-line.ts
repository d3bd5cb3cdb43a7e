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
  'hot-reload': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const usage = `drover-runtime --functions-app DIR [--functions-app DIR …] [options]

Serves Azure Functions apps: takes their events and runs them on function workers.

  --functions-app DIR      an app, as it is: host.json, package.json or */function.json
  --worker-command CMD     what starts a function worker, for example "node path/to/worker.js"
  --workers N              function workers for each app
  --port N                 where functions are called over HTTP (7071)
  --loopback-port N        where function workers of this machine connect (any free port)
  --rpc-port N             where function workers of other machines connect (50051), with --certificates
  --certificates DIR       where the authority of all certificates is kept; made on the first start
  --hot-reload             deploys an app again when its files change

Everything can be set in the environment too: see docs/configuration.md.
`;

/** Flags as the environment they stand for; undefined when help was asked for. Throws with a sentence on a bad flag. */
export function flagsToEnvironment(args: readonly string[]): Record<string, string> | undefined {
  const { values } = parseArgs({ args: [...args], options, strict: true });
  if (values.help) return undefined;
  const apps = (values['functions-app'] ?? []).map((directory) => path.resolve(directory));
  const flags: Record<string, string | undefined> = {
    DROVER_FUNCTIONS_APPS: apps.length > 0 ? apps.join(path.delimiter) : undefined,
    DROVER_WORKER_COMMAND: values['worker-command'],
    DROVER_WORKERS: values.workers,
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
