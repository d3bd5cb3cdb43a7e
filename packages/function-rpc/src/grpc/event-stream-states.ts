import { defineStates } from '@drover/contracts';

/**
 * - `open`: both sides may send
 * - `inputEnded`: the peer ended its side; whether it reset the stream as well is known on the next turn of the event loop
 * - `inputPending`: the peer ended its side while this one is paused; `resume` delivers its last messages, then the end
 * - `ending`: `end` was called here; nothing more is sent, and the close of the HTTP/2 stream ends it
 * - `endingInputPending`: `end` was called here in `inputPending`
 * - `ended`: how the stream ended is known; `onEnd` is called once
 */
export const eventStreamStates = defineStates('event stream', {
  open: ['inputEnded', 'inputPending', 'ending', 'ended'],
  inputEnded: ['inputPending', 'ending', 'ended'],
  inputPending: ['endingInputPending', 'ended'],
  ending: ['ended'],
  endingInputPending: ['ended'],
  ended: [],
});

export type EventStreamState = (typeof eventStreamStates.all)[number];
