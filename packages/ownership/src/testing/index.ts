export { everyPartition, createOwnershipTables, openReplica } from './open-replica.js';
export type { OpenReplicaOptions, OpenedReplica } from './open-replica.js';
