import type { ConnectSpec } from '../../types/driver.js';

/**
 * All variables that a worker is born with. One that is given as undefined is absent, also where the host has it: threads would
 * get it as text.
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
