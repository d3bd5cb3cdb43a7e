/**
 * The most characters of messages that are sent together. The other side works on one part while the next one is written: with
 * 8 KiB, which is all of 64 small requests, both sides wait for each other (`bench:isolated-workers`, tiny, 64 in flight: 0.9 of
 * a raw socket and 1.2 of a raw port with 8 KiB, 1.8 and 1.6 with 1 KiB; less again with 256).
 */
export const mostTogether = 1_024;
