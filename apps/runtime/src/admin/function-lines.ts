import { shownTriggerType } from '../applications/trigger-types.js';
import type { HttpApplication } from '../routes/http-application.js';
import { reachedRoute } from './reached-route.js';

/** Returns a line for each function: its methods and URL, or its trigger, as `func start` lists them. */
export function functionLines(applications: readonly HttpApplication[], baseUrl: string): readonly string[] {
  return applications.flatMap((application) =>
    (application.admin?.functions() ?? []).map(({ name, trigger, isDisabled }) => {
      if (isDisabled) return `${name}: disabled`;
      const route = reachedRoute(name, application, applications);
      const webhook = application.webhookOf(name);
      if (webhook !== undefined)
        return `${name}: ${shownTriggerType(trigger.type)} at ${baseUrl}/runtime/webhooks/${webhook}?functionName=${name}`;
      if (!route) return `${name}: ${shownTriggerType(trigger.type)}`;
      return `${name}: [${route.methods ? [...route.methods].join(',') : 'any method'}] ${baseUrl}/${route.path}`;
    }),
  );
}
