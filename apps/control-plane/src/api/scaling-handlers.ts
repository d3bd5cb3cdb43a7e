import { applicationCatalogErrors, type ApplicationAddress } from '@drover/application-catalog';
import { scalingRoutes, type ScalingView } from '@drover/contracts';
import { scaleControllerElsewhere } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

/** Resolves with undefined if there is no such application. */
export type ExplainScaling = (address: ApplicationAddress) => Promise<ScalingView | undefined>;

export function scalingHandlers(explain: ExplainScaling | undefined): RouteHandler[] {
  return [
    handle(scalingRoutes.getScaling, async ({ caller, params }) => {
      if (!explain) throw scaleControllerElsewhere({});
      const address = { tenantId: caller.tenantId, applicationId: params.app };
      const view = await explain(address);
      if (!view) throw applicationCatalogErrors.applicationUnknown(address);
      return reply(200, view);
    }),
  ];
}
