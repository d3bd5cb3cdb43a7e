import { createRequire } from 'node:module';

// By the name of the package: a bundle of this module lies elsewhere.
const manifest: unknown = createRequire(import.meta.url)('@drover/control-plane/package.json');

/** The release, read from package.json. */
export const version =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
