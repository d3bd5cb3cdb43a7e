import type { ConnectSpec } from '../../types/driver.js';

/**
 * Returns the environment of a worker. Undefined removes a variable, even one of the host: a thread would otherwise read the
 * text "undefined".
 */
export function workerEnvironment({
  env,
  inheritEnv,
}: Pick<ConnectSpec, 'env' | 'inheritEnv'>): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(inheritEnv ? { ...process.env, ...env } : { ...env }))
    if (value !== undefined) all[name] = value;
  return all;
}
