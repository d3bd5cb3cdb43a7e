import { defineStates } from '@drover/contracts';

/**
 * One partition, as one replica sees it.
 *
 * - elsewhere: another replica is its home, or nobody; nothing of it is here
 * - acquiring: asked the database for it; no answer yet
 * - recovering: ours, and what is unfinished is being taken up; requests wait
 * - here: ours; requests are served
 * - releasing: still ours, but nothing new begins; it is released when nothing of it runs here any more
 * - lost: not ours any more, or perhaps not; all of it was dropped. Nothing more happens until a look at the database shows
 *   whose it is
 */
export const partitionStates = defineStates('home of a partition', {
  'not-owned': ['acquiring'],
  acquiring: ['recovering', 'not-owned'],
  recovering: ['owned', 'lost'],
  owned: ['releasing', 'lost'],
  releasing: ['not-owned', 'lost'],
  lost: ['not-owned'],
});

/**
 * This replica among the others.
 *
 * - outside: not started
 * - member: has a row, holds ownership
 * - draining: hands its ownership over, takes no more
 * - left: holds nothing and has no row; only looks where the ownership are, so that requests can be passed on
 * - stopped: for good
 */
export const replicaStates = defineStates('ownership', {
  outside: ['member', 'stopped'],
  member: ['draining', 'stopped'],
  draining: ['left', 'stopped'],
  left: ['stopped'],
  stopped: [],
});
