import type { ComputedMetric } from '@drover/service-kit';
import type { ScaleController } from '../scale-controller.js';

/** Workers by pool and state, as the leader has placed them; nothing on other scale controllers. */
export function placementMetrics(controller: () => Pick<ScaleController, 'term'>): ComputedMetric {
  return {
    name: 'drover_scale_workers',
    help: 'Function workers as the scale controller has placed them: placeholders and workers of applications, by state',
    type: 'gauge',
    labelNames: ['pool', 'state'],
    *read() {
      for (const { pool, state, workers } of controller().term?.census() ?? [])
        yield { labels: { pool, state }, value: workers };
    },
  };
}
