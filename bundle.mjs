// What must start fast is one file: every module that Node has to find and read costs a start about a millisecond.
import { build } from 'esbuild';

await build({
  entryPoints: { worker: 'packages/isolated-workers/dist/worker.js' },
  outdir: 'packages/isolated-workers/dist/bundle',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  logLevel: 'warning',
});
