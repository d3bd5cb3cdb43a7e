/** One version of an application's code, with everything that a worker needs to run it. */
export interface ApplicationVersion {
  readonly tenantId: string;
  readonly applicationId: string;
  readonly codeVersion: string;
  readonly directory: string;
  /** The complete environment of its workers. */
  readonly environment: Readonly<Record<string, string>>;
}

/** `tenant/application:code`: identifies a version before its metadata version is known. */
export function versionKey({ tenantId, applicationId, codeVersion }: ApplicationVersion): string {
  return `${tenantId}/${applicationId}:${codeVersion}`;
}
