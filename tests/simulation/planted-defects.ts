import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { root } from '../architecture/workspace.js';
import type { runAssignments } from './run-assignments.js';

/** One line of the built production code that is replaced by a wrong one. */
export interface PlantedDefect {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const assignments = 'control-plane/dist/assignments';
const membership = 'collection-worker/dist/membership';
const routes = 'gateway/dist/routes';

/** One-line defects, as they happen to everyone. */
export const plantedDefects: readonly PlantedDefect[] = [
  {
    name: 'capacity is not looked at',
    file: `${assignments}/pool-state.js`,
    find: 'this.held < this.facts.capacity && ',
    replace: '',
  },
  {
    name: 'what was taken away by hand stays',
    file: `${assignments}/pool-state.js`,
    find: '!assignment.isExcluded && ',
    replace: '',
  },
  {
    name: 'a replica goes before another serves',
    file: `${assignments}/plan-assignments.js`,
    find: 'if (serving.length > 0 && isTakenOver)',
    replace: 'if (leaving.length > 0)',
  },
  {
    name: 'a worker that does not answer is waited for',
    file: `${assignments}/pool-state.js`,
    find: "status === 'READY' && !isSilent",
    replace: "status === 'READY'",
  },
  {
    name: 'what cannot be prepared stays where it is',
    file: `${assignments}/plan-assignments.js`,
    find: '        giveUpFailing(state, policy, nowMs, steps);',
    replace: '',
  },
  {
    name: 'a lost replica is not replaced',
    file: `${assignments}/plan-assignments.js`,
    find: 'countOf(state, collection) < collection.attainable',
    replace: 'countOf(state, collection) < 1',
  },
  {
    name: 'nothing is rebalanced',
    file: `${assignments}/rebalancing-moves.js`,
    find: 'for (; budget > 0; budget -= 1)',
    replace: 'for (; budget > 1e9; budget -= 1)',
  },
  {
    name: 'a route leads to what is being prepared',
    file: `${assignments}/routes-of.js`,
    find: "if (status !== 'READY' || !worker)",
    replace: 'if (!worker)',
  },
  {
    name: 'a new assignment is taken for the old one',
    file: `${membership}/assigned-collections.js`,
    find: 'known?.assignment.generation !== order.generation ||',
    replace: 'known === undefined ||',
  },
  {
    name: 'what the orders lack is served on',
    file: `${membership}/assigned-collections.js`,
    find: 'if (ordered.has(id))',
    replace: 'if (ordered.size >= 0)',
  },
  {
    name: 'a collection that drains is never given up',
    file: `${membership}/assigned-collections.js`,
    find: "if (assigned.status === 'DRAINING' && isUnused)",
    replace: "if (assigned.status === 'REMOVED' && isUnused)",
  },
  {
    name: 'an older route replaces a newer one',
    file: `${routes}/route-table.js`,
    find: 'if (known && known.generation >= route.generation)',
    replace: 'if (known === route)',
  },
  {
    name: 'a lost event is never found',
    file: `${routes}/collection-routes.js`,
    find: 'if (generations !== this.#table.generations || routes !== this.#table.size)',
    replace: 'if (generations < 0 || routes < 0)',
  },
];

/** Builds the simulation with the defect, and calls `work` with it. */
export async function withDefect(
  { file, find, replace }: PlantedDefect,
  work: (run: typeof runAssignments) => Promise<void>,
): Promise<void> {
  const folder = path.join(root, 'tests/dist/simulation');
  const outfile = path.join(folder, `defect-${process.pid}-${Date.now()}.mjs`);
  const source = path.join(root, 'apps', file);
  const text = readFileSync(source, 'utf8');
  if (text.split(find).length !== 2) throw new Error(`${file} has "${find}" not once. Choose another line of it.`);
  const plant: Plugin = {
    name: 'plant',
    setup: (builder) => {
      builder.onLoad({ filter: /\.js$/ }, ({ path: loaded }) =>
        loaded === source ? { contents: text.replace(find, () => replace), loader: 'js' } : undefined,
      );
    },
  };
  const others = ['contracts', 'database', 'service-kit', 'event-bus', 'http-edge', 'collection-engine', 'testkit'];
  try {
    await build({
      entryPoints: [path.join(folder, 'run-assignments.js')],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      external: others.map((name) => `@drover/${name}`),
      plugins: [plant],
      logLevel: 'silent',
    });
    const built = (await import(pathToFileURL(outfile).href)) as { readonly runAssignments: typeof runAssignments };
    await work(built.runAssignments);
  } finally {
    await rm(outfile, { force: true });
  }
}
