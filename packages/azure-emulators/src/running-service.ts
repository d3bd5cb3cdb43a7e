import type { Entities } from './entities/entities.js';
import type { EntityConsole } from './entity-console.js';
import type { StorageView } from './storage-view.js';

/** What a service gets to start. */
export interface ServiceOptions {
  readonly host: string;
  /** 0 selects a free one. */
  readonly port: number;
  /** Further ports of the same service. */
  readonly morePorts: readonly number[];
  /** A directory of its own; undefined: in memory. */
  readonly dataDirectory: string | undefined;
  readonly entities: Entities;
  readonly createOnFirstUse: boolean;
  /** Bound of its messages in memory; undefined: the default of the service. */
  readonly maxBytes: number | undefined;
  readonly warn: (sentence: string) => void;
}

/** A service that listens. */
export interface RunningService {
  readonly port: number;
  /** With which the service answers TLS on the same port, in PEM. */
  readonly certificate?: string;
  readonly consoles: Readonly<Record<string, EntityConsole>>;
  /** Of blobs and tables. */
  readonly storage?: StorageView;
  declare(entities: Entities): Promise<void>;
  stop(): Promise<void>;
}
