import { hasCode } from '@drover/contracts';
import { instanceErrors, type InstanceProvider } from '@drover/instance-provider';
import type { Observe } from '@drover/service-kit';
import type { DesiredStateWriter } from '../desired-state/desired-state-writer.js';
import type { RuntimeLinks } from '../link/runtime-links.js';
import type { PlacementEffect } from '../placement/placement-types.js';
import type { TermObservation } from './observations.js';

interface EffectRunnerOptions {
  readonly token: number;
  readonly provider: InstanceProvider;
  readonly writer: DesiredStateWriter;
  readonly links: Pick<RuntimeLinks, 'send'>;
  /** Whether the lease is held: without it nothing is done. */
  readonly isHeld: () => boolean;
  readonly onStartFailed: (instanceId: string, reason: string) => void;
  readonly onDeleted: (application: string) => void;
  /** Something has seen a newer token. */
  readonly onFenced: (reason: string) => void;
  readonly observe: Observe<TermObservation>;
}

/** Does what placement decided. Nothing waits but the start of a process, for the row that the next leader adopts it by. */
export class EffectRunner {
  readonly #options: EffectRunnerOptions;

  constructor(options: EffectRunnerOptions) {
    this.#options = options;
  }

  run(effects: readonly PlacementEffect[]): void {
    for (const effect of effects) {
      if (!this.#options.isHeld()) return;
      this.#run(effect);
    }
  }

  #run(effect: PlacementEffect): void {
    const { writer, links, token, provider, onDeleted, observe } = this.#options;
    switch (effect.kind) {
      case 'start':
        return void this.#start(effect);
      case 'end':
        return this.#act('end', effect.instanceId, provider.end(effect.instanceId, effect.graceMs, token));
      case 'forget':
        return this.#act('forget', effect.instanceId, provider.forget(effect.instanceId, token));
      case 'send':
        return links.send(effect.runtimeId, { ...effect.command, token });
      case 'save-worker':
        return writer.saveWorker(effect.row);
      case 'drop-worker':
        return writer.dropWorker(effect.workerId);
      case 'save-application':
        return writer.saveApplication(effect.row);
      case 'drop-application':
        return writer.dropApplication(effect.application);
      case 'deleted':
        return onDeleted(effect.application);
      case 'note':
        return observe(effect.note);
    }
  }

  async #start({ spec, row }: Extract<PlacementEffect, { readonly kind: 'start' }>): Promise<void> {
    const { provider, writer, token, isHeld, onStartFailed } = this.#options;
    const { instanceId } = spec;
    try {
      if (row) {
        writer.saveWorker(row);
        await writer.flushed();
      }
      if (isHeld()) await provider.start(spec, token);
    } catch (error) {
      this.#failed('start', instanceId, error);
      // A host that did not answer may have started it: the next list tells.
      if (hasCode(error, instanceErrors.instanceRefused.code)) onStartFailed(instanceId, messageOf(error));
    }
  }

  #act(call: string, instanceId: string, answer: Promise<void>): void {
    answer.catch((error: unknown) => this.#failed(call, instanceId, error));
  }

  #failed(call: string, instanceId: string, error: unknown): void {
    const { observe, onFenced } = this.#options;
    if (hasCode(error, instanceErrors.instanceFenced.code)) return onFenced(messageOf(error));
    observe({ kind: 'scale.call-failed', call, instanceId, reason: messageOf(error) });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
