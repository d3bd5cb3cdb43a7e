import type { Leash } from '@drover/service-kit';
import { startProgram, type Contestant } from './contestant.js';

/** What everybody is called with. */
export const callBody = '{"input":{"id":7,"name":"tiny"}}';
const request = { path: '/invoke', headers: {}, body: callBody };

async function bare(program: string, name: string, options: object, leash: Leash): Promise<Contestant> {
  return { name, request, ...(await startProgram(program, options, leash)) };
}

export const bareProxy = (endpointPort: number, leash: Leash): Promise<Contestant> =>
  bare('bare-proxy', 'node:http + undici', { endpointPort }, leash);

export const fastifyProxy = (endpointPort: number, leash: Leash): Promise<Contestant> =>
  bare('fastify-proxy', 'fastify + undici', { endpointPort }, leash);

export const bareHttp = (leash: Leash): Promise<Contestant> => bare('bare-http', 'node:http', {}, leash);

export const piscinaFastify = (leash: Leash): Promise<Contestant> =>
  bare('piscina-fastify', 'fastify + piscina', {}, leash);
