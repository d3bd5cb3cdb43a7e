import { SimProcess } from './sim-process.js';
import type { SimWorker } from './sim-worker.js';
import { calm, type SimWorld } from './sim-world.js';

/** Faults end here; the rest is time to recover. */
export const faultsUntilMs = 60_000;

/** Starts a few workers, collections and gateways, and lets things happen to them until the faults end. */
export function runFaults(world: SimWorld): void {
  const { clock, traits } = world;
  for (let count = clock.integer(1, 4); count > 0; count -= 1) world.join();
  for (let count = clock.integer(1, 8); count > 0; count -= 1) void world.define();
  world.addGateway();
  world.addGateway();
  const actions = traits.isRough ? [...harmless, ...harmful] : harmless;
  const next = (): void => {
    if (clock.nowMs >= faultsUntilMs) return recover(world);
    clock.pick(actions)?.(world);
    clock.after(clock.between(100, 7_000), next);
  };
  clock.after(clock.between(0, 10_000), next);
}

type Action = (world: SimWorld) => void;

const pickWorker = ({ clock, running }: SimWorld): SimWorker | undefined => clock.pick(running);

/** Workers that stay, besides the one that goes. */
const othersOf = ({ workers }: SimWorld, worker: SimWorker): SimWorker[] =>
  workers.filter((other) => other !== worker && other.process.isRunning && !other.isLeaving && other.isRegistered);

/** Nothing that a client may notice. */
const harmless: readonly Action[] = [
  (world) => void world.join(),
  (world) => void world.join(),
  (world) => {
    const worker = pickWorker(world);
    if (!worker) return;
    const { isRough, capacity, hasAffinity } = world.traits;
    const fits = othersOf(world, worker).some(({ facts }) => facts.pool === worker.facts.pool);
    if (isRough || (fits && capacity >= 50 && !hasAffinity)) worker.leave();
  },
  (world) => void world.define(),
  (world) => {
    const id = world.clock.pick([...world.database.tables.collections.keys()]);
    if (id !== undefined) void world.undefine(id);
  },
  (world) => {
    const plane = world.clock.pick(world.planes);
    // One at a time: a worker that leaves has to be able to say so.
    if (!world.traits.isRough && world.planes.some(({ isUp }) => !isUp)) return;
    plane?.crash();
    world.clock.after(world.clock.between(0, 30_000), () => plane?.restart());
  },
  (world) => {
    const [gateway] = world.gateways;
    gateway?.process.kill();
    world.gateways = world.gateways.slice(1);
    world.addGateway();
  },
  (world) => moveByHand(world),
  (world) => {
    for (const id of world.loads.keys())
      if (world.clock.chance(0.3)) world.loads.set(id, world.clock.between(0, 60) * world.clock.fraction());
  },
];

function moveByHand({ clock, planes, database, network, workers }: SimWorld): void {
  const collection = clock.pick([...database.tables.collections.values()]);
  const worker = clock.pick(workers);
  const plane = clock.pick(planes);
  if (!collection || !worker || !plane) return;
  const target = { collection: collection.name, workerId: worker.facts.workerId };
  const isTaken = clock.chance(0.4);
  clock.log(`${isTaken ? 'unassign' : 'assign'} ${target.collection} ${target.workerId} by hand`);
  const operator = new SimProcess(clock, 'operator');
  const change = network.call(operator, plane, ({ manual }) =>
    isTaken ? manual.unassign(collection.tenant_id, target) : manual.assign(collection.tenant_id, target),
  );
  void change.catch(() => undefined); // refused, or the control plane is away
}

const harmful: readonly Action[] = [
  (world) => defineAfterCrash(world),
  (world) => {
    const worker = pickWorker(world);
    worker?.kill();
    if (worker && world.clock.chance(0.7)) {
      const { workerId } = worker.facts;
      world.clock.after(world.clock.between(10, 40_000), () => world.join({ ...worker.facts, workerId }));
    }
  },
  (world) => {
    const worker = pickWorker(world);
    if (!worker) return;
    world.clock.log(`${worker.facts.workerId} freezes`);
    worker.process.freeze();
    world.clock.after(world.clock.between(500, 40_000), () => worker.process.thaw());
  },
  (world) => {
    world.isStorageBroken = true;
    world.clock.after(world.clock.between(1_000, 20_000), () => {
      world.isStorageBroken = false;
    });
  },
  // Started again while its former process runs on: both have one id.
  (world) => {
    const worker = pickWorker(world);
    if (worker) world.join({ ...worker.facts, baseUrl: `${worker.facts.baseUrl}-again` });
  },
];

/** A new collection is given to workers of which it is not known yet that they are gone. */
function defineAfterCrash(world: SimWorld): void {
  const [, ...others] = world.running;
  for (const worker of others) worker.kill();
  void world.define();
}

/** Some collections cannot be prepared by one worker for so long after the other faults. */
const unableForMs = 60_000;

function recover(world: SimWorld): void {
  const { clock, network, planes, workers, traits } = world;
  clock.log('all faults end');
  network.weather = calm;
  clock.after(unableForMs, () => world.unable.clear());
  for (const plane of planes) plane.restart();
  for (const { process } of workers) process.thaw();
  // Two processes with one id take it from each other for ever: the operator ends all but the last.
  const last = new Map(workers.map((worker) => [worker.facts.workerId, worker]));
  for (const worker of workers) if (!worker.process.isGone && last.get(worker.facts.workerId) !== worker) worker.kill();
  if (traits.isRough && traits.capacity >= 50) defineAfterCrash(world);
  else for (let count = 3; count > 0; count -= 1) void world.define();
  world.join({ pool: 'default' });
  if (traits.hasPools) world.join({ pool: 'gold' });
  if (world.database.tables.collections.size === 0) void world.define();
}
