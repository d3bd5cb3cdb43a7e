/** Options of `drover up` and `drover doctor`; environment variables apply where one is absent. */
export interface UpFlags {
  readonly port?: number;
  readonly host?: string;
  readonly dataDir?: string;
  /** Directories of the applications to serve. */
  readonly app?: readonly string[];
  /** The only functions that run of these applications. */
  readonly functions?: readonly string[];
  /** Origins whose pages may call functions and records, separated by commas. */
  readonly cors?: string;
  readonly corsCredentials?: boolean;
  readonly workers?: number;
  /** Debug port of the first function worker. */
  readonly inspect?: number;
  /** Applications are deployed again when their files change. */
  readonly watch?: boolean;
  /** Functions are called without keys. */
  readonly noKeys?: boolean;
  readonly json?: boolean;
}

export interface ClientFlags {
  readonly dataDir?: string;
  readonly json?: boolean;
  /** Of commands that change something: answered as soon as the change is stored. */
  readonly noWait?: boolean;
}
