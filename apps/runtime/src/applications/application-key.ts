import { applicationKeyInvalid } from './errors.js';

/** One version of one tenant's application. */
export interface ApplicationDefinition {
  readonly tenantId: string;
  readonly applicationId: string;
  /** Changes with triggers, bindings and their configuration: another one needs another job host. */
  readonly metadataVersion: string;
  /** Changes with the code: several share a job host while their metadata is the same. */
  readonly codeVersion: string;
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const versionPattern = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/;
const idRule = 'letters, digits, ".", "_" and "-", at most 63, the first a letter or a digit';
const versionRule = 'letters, digits, ".", "_", "+" and "-", at most 128, the first a letter or a digit';

/** The same parts, once they are known to be good; neither `/` nor `:` can be in them. */
export function checkApplicationDefinition(parts: ApplicationDefinition): ApplicationDefinition {
  const { tenantId, applicationId, metadataVersion, codeVersion } = parts;
  check('tenant id', tenantId, idPattern, idRule);
  check('application id', applicationId, idPattern, idRule);
  check('metadata version', metadataVersion, versionPattern, versionRule);
  check('code version', codeVersion, versionPattern, versionRule);
  return { tenantId, applicationId, metadataVersion, codeVersion };
}

/** `tenant/application`: all versions of it. */
export function applicationKey({ tenantId, applicationId }: Omit<ApplicationDefinition, Version>): string {
  return `${tenantId}/${applicationId}`;
}

/** `tenant/application:metadata`: what one job host serves. */
export function jobHostKey(definition: Omit<ApplicationDefinition, 'codeVersion'>): string {
  return `${applicationKey(definition)}:${definition.metadataVersion}`;
}

/** `tenant/application:metadata:code`: what one worker runs. */
export function fullKey(definition: ApplicationDefinition): string {
  return `${jobHostKey(definition)}:${definition.codeVersion}`;
}

export function canShareJobHost(one: ApplicationDefinition, other: ApplicationDefinition): boolean {
  return jobHostKey(one) === jobHostKey(other);
}

/** Reads a full key back. */
export function parseFullKey(text: string): ApplicationDefinition {
  const [owner = '', metadataVersion = '', codeVersion = '', ...more] = text.split(':');
  const [tenantId = '', applicationId = '', ...deeper] = owner.split('/');
  if (more.length > 0 || deeper.length > 0)
    throw applicationKeyInvalid({ part: 'key', value: text, expected: 'tenant/application:metadata:code' });
  return checkApplicationDefinition({ tenantId, applicationId, metadataVersion, codeVersion });
}

type Version = 'metadataVersion' | 'codeVersion';

function check(part: string, value: string, pattern: RegExp, expected: string): void {
  if (!pattern.test(value)) throw applicationKeyInvalid({ part, value, expected });
}
