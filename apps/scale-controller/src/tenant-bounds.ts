import { VariableProblem, type Variable } from '@drover/service-kit';
import type { TenantLimits } from './decisions/fleet-types.js';

const expects = 'a list such as `acme=2..20, beta=0..5*3`: tenant, fewest and most workers, and a weight';

/** Bounds of tenants from an environment variable. */
export function tenantBounds(
  name: string,
  { about }: { readonly about: string },
): Variable<ReadonlyMap<string, TenantLimits>> {
  return {
    name,
    about,
    expects,
    read(environment) {
      const raw = environment[name]?.trim();
      const bounds = new Map<string, TenantLimits>();
      if (!raw) return bounds;
      for (const part of raw.split(',')) {
        const [tenantId, limits] = readBounds(part.trim()) ?? [];
        if (tenantId === undefined || limits === undefined || bounds.has(tenantId))
          throw new VariableProblem(`${name} has the part "${part.trim()}"; it must be ${expects}, each tenant once`);
        bounds.set(tenantId, limits);
      }
      return bounds;
    },
  };
}

function readBounds(part: string): [string, TenantLimits] | undefined {
  const [, tenantId, min, max, weight = '1'] = /^([^\s=,]+)=(\d{1,6})\.\.(\d{1,6})(?:\*(\d{1,4}))?$/.exec(part) ?? [];
  if (tenantId === undefined || Number(min) > Number(max) || Number(max) < 1 || Number(weight) < 1) return undefined;
  return [tenantId, { minWorkers: Number(min), maxWorkers: Number(max), weight: Number(weight) }];
}
