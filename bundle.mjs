// What must start fast is one file: every module that Node has to find and read costs a start about a millisecond.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
};

const localWorker = {
  entryPoints: { 'local-worker': 'packages/dispatchers/dist/local/worker/local-worker.js' },
  alias: { '@drover/isolated-workers': './packages/isolated-workers/dist/worker.js' }, // without the host's side
};

/**
 * Bundles the programs of an app with all their libraries; what is imported later stays in files of its own. A library in the
 * CommonJS format finds `require` and its folder, which modules do not have. A module that declares its folder itself may do so
 * again after a `var`.
 */
const programs = (app, entryPoints, external = []) =>
  build({
    ...shared,
    format: 'esm',
    splitting: true,
    entryPoints,
    outdir: `apps/${app}/dist/bundle`,
    mainFields: ['module', 'main'], // a UMD file requires its parts in a way that no bundler follows
    external: ['pg-native', 'azurite', '@drover/node-worker', ...external],
    banner: {
      js: [
        "import { createRequire as __requireOf } from 'node:module';",
        "import { fileURLToPath as __pathOf } from 'node:url';",
        'const require = __requireOf(import.meta.url);',
        "var __filename = __pathOf(import.meta.url), __dirname = __pathOf(new URL('.', import.meta.url));",
        // As Node 21 has it. Without one, `pg` asks the class Response where it runs, and Node loads its HTTP client: 6 MB.
        "globalThis.navigator ??= { userAgent: 'Node.js' };",
      ].join('\n'),
    },
  });
/** Started beside the program that supervises it, `drover up` or a runtime. */
const emulators = { 'emulators-main': 'apps/runtime/dist/emulators/emulators-main.js' };
const upPrograms = Object.fromEntries(
  readdirSync('apps/cli/dist/up')
    .filter((file) => file.endsWith('-main.js'))
    .map((file) => [file.slice(0, -'.js'.length), `apps/cli/dist/up/${file}`]),
);

// Names of shared files change with their content.
for (const app of ['cli', 'runtime']) rmSync(`apps/${app}/dist/bundle`, { recursive: true, force: true });
await Promise.all([
  // By itself: entry points of one bundle get what any of them uses of a package, and `drover up` uses little of the roles' packages.
  programs('cli', { up: 'apps/cli/dist/commands/up.js' }),
  programs('cli', { main: 'apps/cli/dist/main.js', ...upPrograms, ...emulators }, ['./up.js']),
  // The platform process looks for it beside itself.
  build({ ...shared, ...localWorker, format: 'esm', outdir: 'apps/cli/dist/bundle' }),
  programs('runtime', { main: 'apps/runtime/dist/main.js', ...emulators }),
  build({
    ...shared,
    format: 'esm',
    entryPoints: { worker: 'packages/isolated-workers/dist/worker.js' },
    outdir: 'packages/isolated-workers/dist/bundle',
  }),
  build({ ...shared, ...localWorker, format: 'esm', outdir: 'packages/dispatchers/dist/bundle' }),
  // CommonJS loads sooner, and most apps make Node load that part of itself anyway.
  build({
    ...shared,
    format: 'cjs',
    entryPoints: { 'node-worker': 'apps/node-worker/dist/main.js' },
    outdir: 'apps/node-worker/dist/bundle',
  }),
]);
writeFileSync('apps/node-worker/dist/bundle/package.json', '{ "type": "commonjs" }\n');
