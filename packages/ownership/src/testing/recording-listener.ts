import type { OwnershipListener } from '../ownership-listener.js';

/** A listener that records its calls and can delay them. */
export class RecordingListener implements OwnershipListener {
  readonly calls: string[] = [];
  readonly running = new Set<number>();
  onAcquired: (partitions: readonly number[]) => Promise<void> = () => Promise.resolve();
  onReleasing: (partitions: readonly number[], deadline: AbortSignal) => Promise<void> = () => Promise.resolve();

  async acquired(partitions: readonly number[]): Promise<void> {
    this.calls.push(`acquired ${partitions.join(' ')}`);
    await this.onAcquired(partitions);
    for (const partition of partitions) this.running.add(partition);
  }

  async releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    this.calls.push(`releasing ${partitions.join(' ')}`);
    await this.onReleasing(partitions, deadline);
    for (const partition of partitions) this.running.delete(partition);
  }

  resumed(partitions: readonly number[]): void {
    this.calls.push(`resumed ${partitions.join(' ')}`);
  }

  lost(partitions: readonly number[]): void {
    this.calls.push(`lost ${partitions.join(' ')}`);
    for (const partition of partitions) this.running.delete(partition);
  }
}
