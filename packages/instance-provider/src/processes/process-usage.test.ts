import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { readProcess, UsageMeter, type ProcessReading } from './process-usage.js';

describe('the usage of a process', () => {
  const open = (limitMb?: number) => {
    const system: { reading: ProcessReading | undefined } = { reading: { cpuMs: 0, residentBytes: 0 } };
    return { system, meter: new UsageMeter(() => system.reading, limitMb) };
  };

  it('is known from the second measurement on: CPU since the one before, memory of its limit', () => {
    const { system, meter } = open(100);
    system.reading = { cpuMs: 5_000, residentBytes: 0 };
    expect(meter.measure(10_000)).toBeUndefined();
    system.reading = { cpuMs: 5_500, residentBytes: 25 * 1_048_576 };
    expect(meter.measure(11_000)).toEqual({ cpu: 0.5, memory: 0.25 });
    system.reading = { cpuMs: 8_500, residentBytes: 50 * 1_048_576 };
    expect(meter.measure(13_000)).toEqual({ cpu: 1.5, memory: 0.5 });
  });

  it('tells what the process needs on a crowded machine: the time in which it ran or waited for a core', () => {
    const { system, meter } = open(100);
    system.reading = { cpuMs: 0, residentBytes: 0, wantedCpuMs: 1_000 };
    meter.measure(0);
    system.reading = { cpuMs: 300, residentBytes: 0, wantedCpuMs: 1_900 };
    expect(meter.measure(1_000)).toEqual({ cpu: 0.3, memory: 0, cpuDemand: 0.9 });
    system.reading = { cpuMs: 600, residentBytes: 0, wantedCpuMs: undefined };
    expect(meter.measure(2_000)).toEqual({ cpu: 0.3, memory: 0 });
  });

  it('is that of before while too little time has passed', () => {
    const { system, meter } = open(100);
    meter.measure(0);
    system.reading = { cpuMs: 100, residentBytes: 0 };
    const known = meter.measure(1_000);
    system.reading = { cpuMs: 200, residentBytes: 0 };
    expect(meter.measure(1_100)).toEqual(known);
    expect(meter.measure(2_000)).toEqual({ cpu: 0.1, memory: 0 });
  });

  it('is a share of the machine without a limit, and unknown when the process has ended', () => {
    const { system, meter } = open();
    meter.measure(0);
    system.reading = { cpuMs: 0, residentBytes: totalmem() / 4 };
    expect(meter.measure(1_000)).toEqual({ cpu: 0, memory: 0.25 });
    system.reading = undefined;
    expect(meter.measure(2_000)).toBeUndefined();
  });

  it('is read from the system', () => {
    const reading = readProcess(process.pid);
    if (process.platform !== 'linux') return expect(reading).toBeUndefined();
    expect(reading?.residentBytes).toBeGreaterThan(10_000_000);
    expect(reading?.cpuMs).toBeGreaterThan(0);
    expect(
      Math.abs((reading?.cpuMs ?? 0) - (process.cpuUsage().user + process.cpuUsage().system) / 1_000),
    ).toBeLessThan(500);
    expect(readProcess(2 ** 30)).toBeUndefined();
  });
});
