import { lstatSync, readdirSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';

export interface FolderWatchOptions {
  readonly directory: string;
  /** Names of folders that are not watched, wherever they are. */
  readonly ignored: ReadonlySet<string>;
  /** Called for every change of a file or folder; editors make several per save. */
  readonly onChange: () => void;
  /** Called when a folder cannot be watched: the system allows no more watches, for example. */
  readonly onProblem: (error: unknown) => void;
}

/**
 * Watches a folder with all folders in it. It watches folders, never files: a file that was saved by rename is another file under the
 * same name, which the watch of the former one, as `fs.watch` has it with `recursive` on Linux, never notices. Links are not followed.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #root: string;
  /** By path. */
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(options: FolderWatchOptions) {
    this.#options = options;
    this.#root = path.resolve(options.directory);
    this.#add(this.#root);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #add(folder: string): void {
    this.#remove(folder);
    try {
      const watcher = watch(folder, (event, name) => this.#changed(folder, event, name));
      this.#watchers.set(folder, watcher);
      watcher.on('error', (error) => {
        this.#remove(folder);
        this.#failed(folder, error);
      });
      // After the watch began, so that a folder that is made meanwhile is found by one of the two.
      for (const entry of readdirSync(folder, { withFileTypes: true }))
        if (entry.isDirectory() && !this.#options.ignored.has(entry.name)) this.#add(path.join(folder, entry.name));
    } catch (error) {
      this.#failed(folder, error);
    }
  }

  #changed(folder: string, event: string, name: string | null): void {
    if (name !== null && this.#options.ignored.has(name)) return;
    // A name comes or goes: it may be that of a folder, or of another folder than before.
    if (event === 'rename' && name !== null) this.#renew(path.join(folder, name));
    this.#options.onChange();
  }

  #renew(file: string): void {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats?.isDirectory()) this.#add(file);
    else this.#remove(file);
  }

  /** Ends the watches of a folder and of all folders in it. */
  #remove(folder: string): void {
    for (const [watched, watcher] of this.#watchers) {
      if (watched !== folder && !watched.startsWith(folder + path.sep)) continue;
      watcher.close();
      this.#watchers.delete(watched);
    }
  }

  /** A folder that is gone again is no problem. */
  #failed(folder: string, error: unknown): void {
    if (folder === this.#root || lstatSync(folder, { throwIfNoEntry: false })) this.#options.onProblem(error);
  }
}
