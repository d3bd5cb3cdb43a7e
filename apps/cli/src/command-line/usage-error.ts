/** A mistake on the command line; the message ends with what to do. */
export class UsageError extends Error {}
