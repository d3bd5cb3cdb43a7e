import type { Environment, Secret } from '@drover/service-kit';

/**
 * What of our own environment the processes of functions may see: how programs are found and how text and time are shown.
 * Not `HOME`: it leads programs to the credentials of whoever runs the platform.
 */
const shared = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'NODE_ENV'] as const;

/** The shared part of an environment, and nothing secret. */
export function sharedEnvironment(environment: Environment): Environment {
  return Object.fromEntries(shared.map((name) => [name, environment[name]]));
}

/** The whole environment of a function's process: the shared part of ours, then what the function was registered with. */
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
