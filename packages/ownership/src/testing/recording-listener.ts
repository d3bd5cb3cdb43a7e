import type { HomeListener } from '../location.js';

/** A listener that remembers what it was told, and can be held up. */
export class RecordingListener implements HomeListener {
  readonly told: string[] = [];
  readonly running = new Set<number>();
  onGained: (partitions: readonly number[]) => Promise<void> = () => Promise.resolve();
  onLeaving: (partitions: readonly number[], deadline: AbortSignal) => Promise<void> = () => Promise.resolve();

  async gained(partitions: readonly number[]): Promise<void> {
    this.told.push(`gained ${partitions.join(' ')}`);
    await this.onGained(partitions);
    for (const partition of partitions) this.running.add(partition);
  }

  async leaving(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    this.told.push(`leaving ${partitions.join(' ')}`);
    await this.onLeaving(partitions, deadline);
    for (const partition of partitions) this.running.delete(partition);
  }

  lost(partitions: readonly number[]): void {
    this.told.push(`lost ${partitions.join(' ')}`);
    for (const partition of partitions) this.running.delete(partition);
  }
}
