import type { ExecutionMode, FunctionSpec, RequestedExecutionMode, RetryPolicy, TenantId } from '@drover/contracts';
import type { Secret } from '@drover/service-kit';

/** One incarnation of a function, with every default filled in. Never changes: a change makes another one. */
export interface FunctionDefinition {
  readonly tenantId: TenantId;
  readonly name: string;
  /** Of this registration: a name that is registered again gets a higher one, so nothing late touches the new one. */
  readonly generation: number;
  /** Grows with every PATCH. */
  readonly revision: number;
  /** Where attempts run. */
  readonly mode: ExecutionMode;
  readonly requestedMode: RequestedExecutionMode;
  readonly degradationReason?: string;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly queueSize: number;
  readonly maxRetries: number;
  readonly retry: Required<RetryPolicy>;
  /** POOL. */
  readonly endpointUrl?: string;
  /** LOCAL: relative to the host's folder of handlers. */
  readonly handler?: string;
  /** APP. */
  readonly appFunction?: { readonly application?: string; readonly name: string };
  /** REMOTE, and LOCAL. Opened only where a process is started. */
  readonly env: Readonly<Record<string, Secret>>;
  /** As it was sent, without `env`: fields that only show up in answers are read from here. */
  readonly spec: Omit<FunctionSpec, 'env'>;
  /** Found in a deployed application, not registered by hand. */
  readonly discovered?: { readonly application: string; readonly trigger: string };
  readonly createdAt?: Date;
  readonly updatedAt?: Date;
}

/** Where definitions are looked up. Both answers are quick: from memory unless a function is asked for the first time. */
export interface FunctionCatalog {
  /** What is known without waiting; undefined when the question has to be asked properly. */
  peek(tenantId: TenantId, name: string): FunctionDefinition | undefined;
  find(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined>;
  /** Called with the new definition (undefined: removed) whenever one changed here or elsewhere. */
  onChange(listener: (tenantId: TenantId, name: string, now: FunctionDefinition | undefined) => void): void;
}
