import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/** Looks definitions up. Both methods answer from memory unless a function is requested for the first time. */
export interface FunctionCatalog {
  /** Returns what is cached; undefined when `find` has to be called. */
  peek(tenantId: TenantId, name: string): FunctionDefinition | undefined;
  find(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined>;
  /** Calls `listener` with the new definition (undefined: removed) after a change on this or another replica. */
  onChange(listener: (tenantId: TenantId, name: string, now: FunctionDefinition | undefined) => void): void;
}
