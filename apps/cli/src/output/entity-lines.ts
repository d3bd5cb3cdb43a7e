import type { EntityStatus } from '@drover/azure-emulators';

/** One line for each entity, in columns: depth, in flight, dead letters. At most `most` lines. */
export function renderEntityLines(entities: readonly EntityStatus[], most: number): readonly string[] {
  const shown = entities.length > most ? entities.slice(0, Math.max(0, most - 1)) : entities;
  const serviceWidth = Math.max(0, ...shown.map(({ service }) => service.length));
  const nameWidth = Math.max(0, ...shown.map((entity) => labelOf(entity).length));
  const lines = shown.map((entity) => {
    const { service, depth, inFlight, scheduled, deadLetters } = entity;
    const counts = [
      `${String(depth).padStart(7)} waiting`,
      `${String(inFlight).padStart(5)} in flight`,
      `${String(deadLetters).padStart(5)} dead`,
      ...(scheduled > 0 ? [`${scheduled} scheduled`] : []),
    ];
    return `  ${service.padEnd(serviceWidth)}  ${labelOf(entity).padEnd(nameWidth)}  ${counts.join('  ')}`;
  });
  return entities.length > most ? [...lines, `  … and ${entities.length - shown.length} more`] : lines;
}

/** Names come from clients and could hold control characters of a terminal. */
function labelOf({ name, kind }: EntityStatus): string {
  const printable = name.replaceAll(/\p{Cc}/gu, '?');
  return kind === 'queue' ? printable : `${printable} (${kind})`;
}
