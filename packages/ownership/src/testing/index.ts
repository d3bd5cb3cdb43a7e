export { createOwnershipTables, openReplica } from './open-replica.js';
export type { OpenReplicaOptions, OpenedReplica } from './open-replica.js';
export { describeOwnership } from './ownership-contract.js';
export type { Ownership } from './ownership-contract.js';
