import { defineStates } from '@drover/contracts';

/**
 * One partition, as one replica sees it.
 *
 * - not-owned: another replica owns it, or none does; nothing of it runs here
 * - acquiring: the database was asked for it and has not answered
 * - recovering: owned; its unfinished work is being recovered, requests wait
 * - owned: requests are served
 * - releasing: still owned, but nothing new starts; it is released once nothing of it runs here
 * - lost: no longer owned, or perhaps not; its work was dropped. The next poll of the database leads out of it
 */
export const partitionStates = defineStates('partition ownership', {
  'not-owned': ['acquiring'],
  acquiring: ['recovering', 'not-owned'],
  recovering: ['owned', 'lost'],
  owned: ['releasing', 'lost'],
  releasing: ['not-owned', 'lost'],
  lost: ['not-owned'],
});

/**
 * One replica of the control plane in the group that shares the partitions.
 *
 * - not-joined: not started
 * - member: has a row in the table of replicas and may own partitions
 * - draining: releases its partitions and acquires none
 * - left: owns nothing and has no row; still polls, so that requests can be forwarded to the owners
 * - stopped: final
 */
export const replicaStates = defineStates('replica of the control plane', {
  'not-joined': ['member', 'stopped'],
  member: ['draining', 'stopped'],
  draining: ['left', 'stopped'],
  left: ['stopped'],
  stopped: [],
});
