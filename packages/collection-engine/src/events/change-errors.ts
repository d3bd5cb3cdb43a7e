import { defineError } from '@drover/contracts';

export const changesExpired = defineError<{ collection: string; since: number; oldest: number }>(
  'RECORD_CHANGES_EXPIRED',
  {
    fault: 'caller',
    retryable: false,
    status: 410,
    message: (d) =>
      `Changes of "${d.collection}" after ${d.since} are no longer complete: those up to ${d.oldest} were removed. ` +
      'Read the changes with since=now to get a position, load the records again, and continue from that position.',
    help: 'Changes of records are kept for a limited time, and the client was away for longer. Ask for `since=now`, load the records again, then continue from the position of that answer.',
  },
);

export const eventsSwitchedOff = defineError<{ collection: string }>('RECORD_EVENTS_OFF', {
  fault: 'caller',
  retryable: false,
  status: 405,
  message: (d) =>
    `The collection "${d.collection}" has no change feed: its definition switches events off. Set "events" to true in the definition.`,
  help: 'The definition of the collection has `events: false`, so its changes are not recorded. Set it to true; changes from then on are in the feed.',
});

export const tooManyStreams = defineError<{ limit: number }>('TOO_MANY_STREAMS', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) => `Your tenant has ${d.limit} open streams of changes, which is the limit. Close some, or share one.`,
  help: 'Each open `GET /{collection}/stream` counts. Share a stream within a process, or poll `_changes`.',
});

export const changeErrors = [changesExpired, eventsSwitchedOff, tooManyStreams];
