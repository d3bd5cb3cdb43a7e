/** What our own worker is asked in this suite. */
export interface EchoMessages {
  echo: { payload: unknown; result: unknown };
  /** Ends the worker. */
  exit: { payload: unknown; result: unknown };
  /** Ends the worker at the first call with a file. */
  exitOnce: { payload: unknown; result: unknown };
  /** Is never answered. */
  hang: { payload: unknown; result: unknown };
  /** Is answered when it is tried again. */
  hangOnce: { payload: unknown; result: unknown };
}
