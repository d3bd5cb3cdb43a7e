import type { ApplicationCatalog } from '@drover/application-catalog';
import type { Caller } from '@drover/collection-engine';
import { applicationChanged } from '@drover/contracts';
import type { SubjectOf } from '../changes/applied-changes.js';

/** Every route that changes an application names it in its path. */
interface ApplicationRequest {
  readonly caller: Caller;
  readonly params: { readonly app: string };
}

/** Finds the state of the application that a request has changed. It may be newer than the change, which then holds, too. */
export function applicationSubject(catalog: Pick<ApplicationCatalog, 'find'>): SubjectOf {
  return async ({ caller: { tenantId }, params: { app: applicationId } }: ApplicationRequest) => {
    const application = await catalog.find({ tenantId, applicationId });
    const { generation = 0, isDeleting = true } = application ?? {};
    return { topic: applicationChanged.name, key: `${tenantId}/${applicationId}`, generation, removed: isDeleting };
  };
}
