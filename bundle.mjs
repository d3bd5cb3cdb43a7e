// What must start fast is one file: every module that Node has to find and read costs a start about a millisecond.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
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

/**
 * Isolated workers as they are published. The drivers' own entry points take them from the root, so that there is one of each. The
 * worker's side is a file of its own besides: a worker needs no more.
 */
async function isolatedWorkers(entryPoints, options = {}) {
  const { outputFiles } = await build({
    ...shared,
    sourcemap: false, // it is installed without its sources
    format: 'esm',
    entryPoints: entryPoints.map((entry) => `packages/isolated-workers/dist/${entry}.js`),
    outbase: 'packages/isolated-workers/dist',
    outdir: 'packages/isolated-workers/dist/bundle',
    write: false,
    ...options,
  });
  for (const { path: file, text } of outputFiles) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, withoutFacades(text));
  }
}
/**
 * Takes parts of Node without `import`, which reads every property of a part, and so loads all that it would load later: 6.0
 * and 2.7 ms of CPU to load the worker's side, 9.7 and 7.0 ms to load the root.
 */
function withoutFacades(code) {
  return code.replaceAll(
    /^import (\{[^}]+\}|\w+) from "(node:[\w/]+)";$/gm,
    (_, names, id) => `const ${names.replaceAll(' as ', ': ')} = process.getBuiltinModule("${id}");`,
  );
}
const driversOfRoot = {
  name: 'drivers-of-root',
  setup: ({ onResolve }) => onResolve({ filter: /\/host\.js$/ }, () => ({ path: '../index.js', external: true })),
};
// The tarball has all declarations, and the compiler leaves those of sources that are gone.
for (const file of readdirSync('packages/isolated-workers/dist', { encoding: 'utf8', recursive: true })) {
  const [, module] = /^(.+)\.d\.ts$/.exec(file) ?? [];
  const isStale = module && !existsSync(`packages/isolated-workers/src/${module}.ts`);
  if (isStale) rmSync(`packages/isolated-workers/dist/${file}`);
}
rmSync('packages/isolated-workers/dist/bundle', { recursive: true, force: true });
// First: apps that use the package are bundled from its entry points.
await Promise.all([
  isolatedWorkers(['index', 'worker', 'testing/index']),
  isolatedWorkers(['drivers/index', 'drivers/child-process', 'drivers/worker-threads'], { plugins: [driversOfRoot] }),
]);

// Names of shared files change with their content.
for (const app of ['cli', 'runtime']) rmSync(`apps/${app}/dist/bundle`, { recursive: true, force: true });
await Promise.all([
  // By itself: entry points of one bundle get what any of them uses of a package, and `drover up` uses little of the roles' packages.
  programs('cli', { up: 'apps/cli/dist/commands/up.js' }),
  programs('cli', { main: 'apps/cli/dist/main.js', ...upPrograms, ...emulators }, ['./up.js']),
  // The platform process looks for it beside itself.
  build({ ...shared, ...localWorker, format: 'esm', outdir: 'apps/cli/dist/bundle' }),
  programs('runtime', { main: 'apps/runtime/dist/main.js', ...emulators }),
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
