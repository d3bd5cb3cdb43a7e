import type { Logger, LogLevel } from '../types/worker.js';

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

/** Passes on lines from `level` up. Errors of the logger are ignored. */
export function filteredLogger(logger: Logger, level: LogLevel): Logger {
  const pass = (own: keyof Logger) => (message: string, facts?: object) => {
    if (rank[own] < rank[level]) return;
    try {
      logger[own](message, facts);
    } catch {
      // a logger must not fail a request
    }
  };
  return { debug: pass('debug'), info: pass('info'), warn: pass('warn'), error: pass('error') };
}
