export { AssignedCollections } from '../membership/assigned-collections.js';
export { CollectionPreparer } from '../membership/collection-preparer.js';
export type { ControlPlaneCalls } from '../membership/control-plane-calls.js';
export { Membership } from '../membership/membership.js';
