import { applicationRoutes, scalingRoutes } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { renderScaling } from '../output/scaling-lines.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';
import { readScaleSettings, type ScaleFlags } from './scale-flags.js';

const defaultDecisions = 5;

/** Sets the bounds of scaling that are given, the others stay; then explains the number of workers. */
export async function showScaling(
  app: string,
  flags: ClientFlags & ScaleFlags & { readonly decisions?: number },
  host: NodeJS.Process,
): Promise<void> {
  const params = { app };
  const given = readScaleSettings(flags);
  if (given) {
    const client = await connect(applicationRoutes, flags, host);
    const { application } = await client.getApplication({ params });
    await client.setScaling({ params, body: { ...application.scaling, ...given } });
  }
  const view = await (await connect(scalingRoutes, flags, host)).getScaling({ params });
  if (flags.json) return printJson(host, view);
  for (const line of renderScaling(view, flags.decisions ?? defaultDecisions)) host.stdout.write(`${line}\n`);
}
