import type { CollectionPlan, CollectionView } from '@drover/contracts';
import { columns, counted } from './application-lines.js';

/** One line for each collection, in columns. */
export function renderCollections(collections: readonly CollectionView[]): readonly string[] {
  return columns(
    collections.map(({ name, version, definition, updatedAt }) => [
      name,
      `version ${version}`,
      definition.storageMode ?? 'PHYSICAL_TABLE',
      counted(definition.fields.length, 'field'),
      updatedAt,
    ]),
  );
}

/** What applying a file would do: one block for each collection that is not as the file says. */
export function renderPlans(plans: readonly CollectionPlan[]): readonly string[] {
  const changes = plans.filter(({ action, refusals }) => action !== 'none' || refusals.length > 0);
  const unchanged = plans.length - changes.length;
  return [...changes.flatMap(renderPlan), ...(unchanged > 0 ? [`${counted(unchanged, 'collection')} unchanged.`] : [])];
}

function renderPlan({ collection, action, fromVersion = 0, steps, refusals }: CollectionPlan): readonly string[] {
  return [
    action === 'create'
      ? `${collection}: new collection`
      : `${collection}: version ${fromVersion} to ${fromVersion + 1}`,
    ...steps.map(({ about, losesValues }) => `  ${losesValues ? '!' : '+'} ${about}`),
    ...refusals.map(({ path, message }) => `  refused: ${path === '' ? '' : `${path}: `}${message}`),
  ];
}

/** Whether carrying out the plans deletes stored values. */
export function losesValues(plans: readonly CollectionPlan[]): boolean {
  return plans.some(({ steps }) => steps.some((step) => step.losesValues));
}
