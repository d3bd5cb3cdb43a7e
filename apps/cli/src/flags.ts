/** What the command line says; what it does not say comes from the environment. */
export interface UpFlags {
  readonly port?: number;
  readonly host?: string;
  readonly dataDir?: string;
  /** Directories of applications to serve. */
  readonly app?: readonly string[];
  readonly workers?: number;
  readonly json?: boolean;
}

export interface ClientFlags {
  readonly dataDir?: string;
  readonly json?: boolean;
}
