/**
 * On the answer to a change that is stored but does not hold everywhere yet: which processes it waits for, and why. Absent if the change
 * holds on every process of the installation.
 */
export const waitingForHeader = 'x-drover-waiting-for';

/** Value of the `Prefer` header (RFC 7240) of a request that is answered as soon as its change is stored. */
export const respondAsync = 'respond-async';
