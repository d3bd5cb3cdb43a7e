import type { Environment, Secret } from '@drover/service-kit';

/**
 * The variables of this process that processes of functions get: how programs are found and how text and time are formatted.
 * Not `HOME`: programs find the credentials of the operator there.
 */
const shared = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'NODE_ENV'] as const;

/** Returns the shared variables only. */
export function sharedEnvironment(environment: Environment): Environment {
  return Object.fromEntries(shared.map((name) => [name, environment[name]]));
}

/** Returns the environment of a function's process: the shared variables of this one, then those of the function. */
export function childEnvironment(
  host: Environment,
  env: Readonly<Record<string, Secret>>,
  may: (name: string) => boolean = () => true,
): Record<string, string> {
  const own: Record<string, string> = {};
  for (const name of shared) {
    const value = host[name];
    if (value !== undefined) own[name] = value;
  }
  for (const [name, value] of Object.entries(env)) if (may(name)) own[name] = value.reveal();
  return own;
}
