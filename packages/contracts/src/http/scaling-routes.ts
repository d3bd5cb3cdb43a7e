import Type from 'typebox';
import { ApplicationName } from '../application.js';
import { ScalingView } from '../scaling.js';
import { defineRoute } from './route.js';

/** Answered by the scale controller. */
export const scalingRoutes = {
  getScaling: defineRoute({
    id: 'getScaling',
    method: 'GET',
    path: '/v1/apps/{app}/scaling',
    about: 'Explains the number of function workers of an application: the last decisions, their inputs and reasons',
    access: 'apps:read',
    params: Type.Object({ app: ApplicationName }),
    responses: { 200: { about: 'The workers of the application, and why', schema: ScalingView } },
  }),
};
