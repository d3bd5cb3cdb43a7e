import type { StoredFunctionIndex, TenantId } from '@drover/contracts';
import type { NewDeployment } from '../application-catalog.js';

export const acmeTenant = 'acme' as TenantId;
export const globexTenant = 'globex' as TenantId;

/** `c` and 16 hexadecimal digits that end with `number`. */
export function codeVersionAt(number: number): string {
  return `c${number.toString(16).padStart(16, '0')}`;
}

/** An index with one HTTP function. */
export function sampleIndex(metadataVersion = 'm1'): StoredFunctionIndex {
  const trigger = { type: 'httpTrigger', name: 'request', route: 'hello' };
  return {
    metadataVersion,
    functions: [{ name: 'hello', triggerType: 'httpTrigger', isDisabled: false, trigger, metadata: { name: 'hello' } }],
    problems: [],
  };
}

/** The deployment of a folder as version `number` of the application `hello` of acme. */
export function sampleDeployment(number: number, changes: Partial<NewDeployment> = {}): NewDeployment {
  return {
    tenantId: acmeTenant,
    applicationId: 'hello',
    codeVersion: codeVersionAt(number),
    source: { kind: 'folder', directory: `/apps/hello-${number}`, isWatched: false },
    index: sampleIndex(),
    settings: {},
    trafficPercent: 100,
    reason: 'test',
    ...changes,
  };
}
