/** Result of one check; `next` is what the user should do about it. */
export interface Finding {
  readonly check: string;
  readonly verdict: 'good' | 'warning' | 'bad';
  readonly found: string;
  readonly next?: string;
}

export const good = (check: string, found: string): Finding => ({ check, verdict: 'good', found });
export const warning = (check: string, found: string, next: string): Finding => ({
  check,
  verdict: 'warning',
  found,
  next,
});
export const bad = (check: string, found: string, next: string): Finding => ({ check, verdict: 'bad', found, next });

const marks = { good: '✓', warning: '!', bad: '✗' };

/** Formats a finding as one line, with the next step below it. */
export function formatFinding({ check, verdict, found, next }: Finding): string {
  const line = `${marks[verdict]} ${check.padEnd(14)} ${found}`;
  return next === undefined ? line : `${line}\n${' '.repeat(17)}→ ${next}`;
}
