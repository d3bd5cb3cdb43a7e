import path from 'node:path';
import { findEntryPoints } from './entry-points.js';
import type { FunctionApp } from './function-app.js';
import { AppStartContext } from './hook-contexts.js';
import { runHooks } from './hooks.js';
import type { LoadScript } from './load-script.js';
import { readPackageJson, type PackageJson } from './package-json.js';

export interface FileFailure {
  /** Relative to the app. */
  readonly file: string;
  readonly error: unknown;
}

/** The result of starting an app. */
export interface AppStart {
  readonly directory: string;
  readonly packageJson: PackageJson;
  /** All files that `main` names, including those that failed. */
  readonly files: readonly string[];
  readonly failures: readonly FileFailure[];
  readonly hookFailure?: { readonly error: unknown };
}

/**
 * Loads the files that package.json names and runs the appStart hooks. Does not throw: failures of the app are part of the
 * result and are reported when the host asks for functions. A file that throws does not prevent the others from loading.
 */
export async function startApp(app: FunctionApp, directory: string, load: LoadScript): Promise<AppStart> {
  const packageJson = readPackageJson(directory);
  const files =
    packageJson.kind === 'read' && packageJson.main !== undefined ? entryPoints(packageJson.main, directory) : [];
  const failures: FileFailure[] = [];
  for (const file of files) {
    app.currentFile = path.join(directory, file);
    try {
      await load(app.currentFile);
    } catch (error) {
      failures.push({ file, error });
    } finally {
      app.currentFile = undefined;
    }
  }
  const start: AppStart = { directory, packageJson, files, failures };
  try {
    await runHooks(app.hooks.appStart, new AppStartContext(app.appLevelHookData, app.appHookData, directory));
  } catch (error) {
    return { ...start, hookFailure: { error } };
  }
  return start;
}

function entryPoints(main: string, directory: string): string[] {
  try {
    return findEntryPoints(main, directory);
  } catch {
    return []; // an invalid pattern
  }
}
