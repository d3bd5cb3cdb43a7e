import { decide, limitOutcome } from './decide.js';
import type { DecideFleet, FleetLimits, FleetMember } from './fleet-types.js';
import { shareWorkers, type WorkerClaim } from './share-capacity.js';
import type { ScaleOutcome } from './types.js';

/**
 * Decides about all applications: each for itself, then the ceilings of tenants and of the platform. Tenants share what is scarce by
 * weighted max-min, and the applications of a tenant share its part evenly. Minimums are never taken.
 */
export const decideFleet: DecideFleet = (members, limits) => {
  const outcomes = members.map(({ state, input, policy }) => decide(state, input, policy));
  const tenants = tenantsOf(members, outcomes);
  if (!isScarce(tenants, limits)) return outcomes;
  const names = [...tenants.keys()];
  const claims = names.map((name) => tenantClaim(tenants.get(name) ?? emptyTenant(), name, limits));
  const grants = shareWorkers(claims, limits.maxWorkers);
  const limited = [...outcomes];
  for (const [index, name] of names.entries())
    for (const [member, granted] of memberGrants(members, outcomes, tenants.get(name), grants[index] ?? 0)) {
      const outcome = outcomes[member];
      if (outcome) limited[member] = limitOutcome(outcome, granted);
    }
  return limited;
};

/** Members of a tenant that want workers, by index. */
interface TenantDemand {
  readonly members: number[];
  wanted: number;
  least: number;
}

const emptyTenant = (): TenantDemand => ({ members: [], wanted: 0, least: 0 });

function tenantsOf(members: readonly FleetMember[], outcomes: readonly ScaleOutcome[]): Map<string, TenantDemand> {
  const tenants = new Map<string, TenantDemand>();
  for (const [index, outcome] of outcomes.entries()) {
    const member = members[index];
    if (!member || outcome.decision.desired === 0) continue;
    const tenant = tenants.get(member.tenantId) ?? emptyTenant();
    tenant.members.push(index);
    tenant.wanted += outcome.decision.desired;
    tenant.least += member.policy.minWorkers;
    tenants.set(member.tenantId, tenant);
  }
  return tenants;
}

function isScarce(tenants: ReadonlyMap<string, TenantDemand>, limits: FleetLimits): boolean {
  let sum = 0;
  for (const [name, { wanted }] of tenants) {
    if (wanted > (limits.tenants.get(name)?.maxWorkers ?? Number.POSITIVE_INFINITY)) return true;
    sum += wanted;
  }
  return sum > limits.maxWorkers;
}

function tenantClaim(demand: TenantDemand, name: string, limits: FleetLimits): WorkerClaim {
  const { minWorkers = 0, maxWorkers = Number.POSITIVE_INFINITY, weight = 1 } = limits.tenants.get(name) ?? {};
  const wanted = Math.max(demand.least, Math.min(demand.wanted, maxWorkers));
  return { wanted, least: Math.max(demand.least, Math.min(minWorkers, wanted)), weight };
}

function memberGrants(
  members: readonly FleetMember[],
  outcomes: readonly ScaleOutcome[],
  tenant: TenantDemand | undefined,
  total: number,
): [number, number][] {
  const indexes = tenant?.members ?? [];
  const claims = indexes.map((index) => ({
    least: members[index]?.policy.minWorkers ?? 0,
    wanted: outcomes[index]?.decision.desired ?? 0,
    weight: 1,
  }));
  const grants = shareWorkers(claims, total);
  return indexes.map((index, place) => [index, grants[place] ?? 0]);
}
