import { watch } from 'node:fs';
import path from 'node:path';
import { readIfExists } from './durable-files.js';

/** The line of postmaster.pid in which a postmaster writes its state. */
const stateLine = 7;

/** Whether a postmaster.pid says that its server shuts down. */
export function saysStopping(text: string): boolean {
  return text.split('\n')[stateLine]?.trim() === 'stopping';
}

/**
 * Calls `onStopping` once when the server of the cluster begins to shut down, for whatever reason. After SIGTERM it accepts no
 * connection and waits for its clients to leave, which may take for ever. Watches the file, so that an idle server costs nothing.
 * Returns the function that ends the watch.
 */
export function watchShutdown(cluster: string, onStopping: () => void): () => void {
  const file = path.join(cluster, 'postmaster.pid');
  let isOver = false;
  const end = (): void => {
    isOver = true;
    watcher.close();
  };
  const check = (): void => {
    readIfExists(file).then(
      (text) => {
        if (isOver || text === undefined || !saysStopping(text)) return;
        end();
        onStopping();
      },
      () => undefined, // it is being removed
    );
  };
  const watcher = watch(file, { persistent: false }, check).on('error', () => undefined);
  check();
  return end;
}
