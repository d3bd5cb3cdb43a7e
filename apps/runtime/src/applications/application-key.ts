import path from 'node:path';

/** One version of one tenant's application. */
interface ApplicationKeyParts {
  readonly tenantId: string;
  readonly applicationId: string;
  /** Changes with triggers, bindings and their configuration. A new one needs a new job host. */
  readonly metadataVersion: string;
  /** Changes with the code. Code versions with the same metadata version share a job host. */
  readonly codeVersion: string;
}

/** `tenant/application:metadata`: identifies a job host. */
export function jobHostKey(parts: Omit<ApplicationKeyParts, 'codeVersion'>): string {
  return `${parts.tenantId}/${parts.applicationId}:${parts.metadataVersion}`;
}

/** `tenant/application:metadata:code`: identifies what a worker runs. */
export function fullKey(parts: ApplicationKeyParts): string {
  return `${jobHostKey(parts)}:${parts.codeVersion}`;
}

/** The id of an application is the name of its folder. */
export function applicationIdOf(directory: string): string {
  return path.basename(path.resolve(directory)).replace(/[^A-Za-z0-9._-]/g, '-');
}

/** Returns `tenant/application` of the key of a job host or of a version. */
export function applicationNameOf(key: string): string {
  const [name = key] = key.split(':');
  return name;
}

/** Returns the tenant of the key of a job host or of a version. */
export function tenantOf(key: string): string {
  const [tenantId = key] = key.split('/');
  return tenantId;
}
