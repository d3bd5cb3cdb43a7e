/** One version of an application's code, ready to be run by workers. */
export interface ApplicationVersion {
  readonly tenantId: string;
  readonly applicationId: string;
  readonly codeVersion: string;
  /** Where workers find it. */
  readonly directory: string;
  /** The whole environment of its workers. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How it is known before its functions are: the metadata version comes out of them. */
export function versionKey({ tenantId, applicationId, codeVersion }: ApplicationVersion): string {
  return `${tenantId}/${applicationId}:${codeVersion}`;
}
