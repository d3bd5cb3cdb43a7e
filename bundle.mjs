// What must start fast is one file: every module that Node has to find and read costs a start about a millisecond.
import { writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const shared = { bundle: true, platform: 'node', target: 'node20', sourcemap: true, logLevel: 'warning' };

await Promise.all([
  build({
    ...shared,
    format: 'esm',
    entryPoints: { worker: 'packages/isolated-workers/dist/worker.js' },
    outdir: 'packages/isolated-workers/dist/bundle',
  }),
  build({
    ...shared,
    format: 'esm',
    entryPoints: { 'local-worker': 'packages/dispatchers/dist/local/worker/local-worker.js' },
    alias: { 'isolated-workers': './packages/isolated-workers/dist/worker.js' }, // without the host's side
    outdir: 'packages/dispatchers/dist/bundle',
  }),
  // CommonJS loads sooner, and most apps make Node load that part of itself anyway.
  build({
    ...shared,
    format: 'cjs',
    entryPoints: { 'node-worker': 'apps/node-worker/dist/main.js' },
    outdir: 'apps/node-worker/dist/bundle',
  }),
]);
writeFileSync('apps/node-worker/dist/bundle/package.json', '{ "type": "commonjs" }\n');
