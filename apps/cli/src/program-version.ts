import { createRequire } from 'node:module';

/** Version of the `drover` command and of everything that it runs. */
export function programVersion(): string {
  const manifest = createRequire(import.meta.url)('@drover/cli/package.json') as { version: string };
  return manifest.version;
}
