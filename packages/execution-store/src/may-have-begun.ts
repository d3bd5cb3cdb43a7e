import type { AcceptedCall } from '@drover/contracts';

/** More than the clocks of two replicas may differ. */
const clockSkewMs = 60_000;

/** Whether a former home may have begun it: one that was to begin later has used no attempt. */
export function mayHaveBegun({ runAt }: AcceptedCall, now: number): boolean {
  return runAt === undefined || runAt <= now + clockSkewMs;
}
